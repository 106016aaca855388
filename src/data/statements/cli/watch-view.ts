/** Shows watch events: a snapshot as a table, a change as the changed values. */

import type { Paint, Terminal } from "../../../ground/command/index.ts";
import { type Column, printable, TableWriter } from "../../../ground/command/index.ts";
import type { WatchMessage } from "../http/watch-messages.ts";
import {
  describeTableChange,
  isTableRow,
  type Row,
  tableCells,
  tableColumns,
} from "./watch-tables.ts";

export class WatchView {
  readonly #terminal: Terminal;
  readonly #rows = new Map<string, Row>();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(message: WatchMessage, nowMs: number): void {
    const { paint, out } = this.#terminal;
    const time = paint.dim(new Date(nowMs).toTimeString().slice(0, 8));
    if (message.type === "SNAPSHOT") {
      out(
        `${time} ${paint.cyan("SNAPSHOT")} revision ${message.revision}, rows: ${message.data.length}\n`,
      );
      this.#snapshot(message.data, nowMs);
      return;
    }
    const { op, key, data } = message;
    const colours = { CREATE: paint.green, UPDATE: paint.yellow, DROP: paint.red };
    const details = this.#details(key, data);
    out(`${time} ${colours[op](op.padEnd(6))} ${paint.bold(printable(key))}${details}\n`);
    if (data === undefined) this.#rows.delete(key);
    else this.#rows.set(key, data);
  }

  #snapshot(rows: readonly Row[], nowMs: number): void {
    const columns = Object.keys(rows[0] ?? {});
    this.#rows.clear();
    const [key = ""] = columns;
    for (const row of rows) this.#rows.set(String(row[key]), row);
    if (columns.length === 0) return;
    if (rows.every(isTableRow)) {
      const cells = rows.map((row) => tableCells(row, nowMs));
      this.#table(tableColumns, cells, (cell, at) => paintTable(cell, at, this.#terminal.paint));
      return;
    }
    const titles = columns.map((title): Column => {
      const align = typeof rows[0]?.[title] === "number" ? "right" : "left";
      return { title, align };
    });
    const cells = rows.map((row) => columns.map((column) => text(column, row[column])));
    this.#table(titles, cells, (cell) => cell);
  }

  #table(
    columns: readonly Column[],
    rows: readonly (readonly string[])[],
    paintCell: (cell: string, column: number) => string,
  ): void {
    const { paint, interactive, columns: width, out } = this.#terminal;
    const line = interactive ? { lineWidthMax: width } : {};
    const style = { widthMax: 40, paintTitle: paint.bold, paintCell, ...line };
    const table = new TableWriter(columns, style, out);
    for (const row of rows) table.row(row);
    table.end();
  }

  #details(key: string, data: Row | undefined): string {
    if (data === undefined) return "";
    const before = this.#rows.get(key);
    if (isTableRow(data)) {
      const said = describeTableChange(before, data);
      if (said.length > 0) return `  ${printable(said.join(", "))}`;
    }
    const changed = Object.entries(data).filter(([column, value]) => before?.[column] !== value);
    const described = changed.map(([column, value]) =>
      before === undefined
        ? `${column}=${text(column, value)}`
        : `${column}: ${text(column, before[column])} → ${text(column, value)}`,
    );
    return described.length === 0 ? "" : `  ${printable(described.join(", "))}`;
  }
}

function paintTable(cell: string, column: number, paint: Paint): string {
  if (column === 0) return paint.bold(cell);
  if (column !== 1) return cell;
  if (/^FAILED/.test(cell)) return paint.red(cell);
  if (/^SUSPENDED|late/.test(cell)) return paint.yellow(cell);
  return /^ACTIVE/.test(cell) ? paint.green(cell) : paint.cyan(cell);
}

/** Shows times in milliseconds as clock times. */
function text(column: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" && column.endsWith("_at_ms")) {
    return new Date(value).toTimeString().slice(0, 8);
  }
  return JSON.stringify(value ?? null);
}
