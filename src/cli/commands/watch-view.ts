/** Shows watch events to a person: a snapshot as a table, a change as what changed. */
import type { WatchMessage } from "../../api/index.ts";
import { TableWriter } from "../output/table.ts";
import type { Terminal } from "../output/terminal.ts";
import { printable } from "../output/terminal-text.ts";

type Row = Readonly<Record<string, unknown>>;

export class WatchView {
  readonly #terminal: Terminal;
  readonly #rows = new Map<string, Row>();
  #keyColumn: string | undefined;

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
      this.#snapshot(message.data);
      return;
    }
    const { op, key, data } = message;
    const colours = { CREATE: paint.green, UPDATE: paint.yellow, DROP: paint.red };
    const details = this.#details(key, data);
    out(`${time} ${colours[op](op.padEnd(6))} ${paint.bold(printable(key))}${details}\n`);
    if (data === undefined) this.#rows.delete(key);
    else this.#rows.set(key, data);
  }

  #snapshot(rows: readonly Row[]): void {
    const terminal = this.#terminal;
    const columns = Object.keys(rows[0] ?? {});
    this.#rows.clear();
    this.#keyColumn = columns[0];
    if (columns.length === 0) return;
    const table = new TableWriter(
      columns.map((title) => ({
        title,
        align: typeof rows[0]?.[title] === "number" ? "right" : "left",
      })),
      {
        widthMax: 40,
        paintTitle: terminal.paint.bold,
        ...(terminal.interactive ? { lineWidthMax: terminal.columns } : {}),
      },
      terminal.out,
    );
    for (const row of rows) {
      this.#rows.set(String(row[this.#keyColumn ?? ""]), row);
      table.row(columns.map((column) => text(column, row[column])));
    }
    table.end();
  }

  #details(key: string, data: Row | undefined): string {
    if (data === undefined) return "";
    const before = this.#rows.get(key);
    const changed = Object.entries(data).filter(([column, value]) => before?.[column] !== value);
    const described = changed.map(([column, value]) =>
      before === undefined
        ? `${column}=${text(column, value)}`
        : `${column}: ${text(column, before[column])} → ${text(column, value)}`,
    );
    return described.length === 0 ? "" : `  ${printable(described.join(", "))}`;
  }
}

/** Times are kept in milliseconds; a person reads a clock. */
function text(column: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" && column.endsWith("_at_ms")) {
    return new Date(value).toTimeString().slice(0, 8);
  }
  return JSON.stringify(value ?? null);
}
