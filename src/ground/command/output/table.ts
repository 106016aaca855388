/** Rows in aligned columns. */
import { displayWidth, pad, printable, truncate } from "./terminal-text.ts";

export interface Column {
  readonly title: string;
  /** Numbers are aligned to the right. */
  readonly align: "left" | "right";
}

export interface TableStyle {
  /** A cell wider than this is cut. */
  readonly widthMax: number;
  /** A longer line is cut, for an overview of a wide table. */
  readonly lineWidthMax?: number;
  paintTitle(text: string): string;
  /** Called with the padded cell, so that colour codes do not change the widths. */
  paintCell?(text: string, column: number): string;
}

/**
 * Prints rows as they arrive. Column widths come from the titles and the first rows; a later, wider
 * cell overflows its column. So memory does not grow with the number of rows.
 */
export class TableWriter {
  readonly #columns: readonly Column[];
  readonly #style: TableStyle;
  readonly #write: (text: string) => void;
  readonly #measuredMax: number;
  #pending: (readonly string[])[] | undefined = [];
  #widths: number[];

  constructor(
    columns: readonly Column[],
    style: TableStyle,
    write: (text: string) => void,
    measuredMax: number = 1_000,
  ) {
    this.#columns = columns;
    this.#style = style;
    this.#write = write;
    this.#measuredMax = measuredMax;
    this.#widths = columns.map(({ title }) => displayWidth(printable(title)));
  }

  row(cells: readonly string[]): void {
    const shown = cells.map((cell) => truncate(printable(cell), this.#style.widthMax));
    if (this.#pending === undefined) {
      this.#write(this.#line(shown));
      return;
    }
    this.#pending.push(shown);
    this.#widths = this.#widths.map((width, index) =>
      Math.max(width, displayWidth(shown[index] ?? "")),
    );
    if (this.#pending.length >= this.#measuredMax) this.end();
  }

  /** Writes the rows that are still held back. Idempotent; rows may follow. */
  end(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    const titles = this.#columns.map(({ title }) => printable(title));
    this.#write(this.#style.paintTitle(this.#line(titles).trimEnd()));
    this.#write("\n");
    for (const row of pending) this.#write(this.#line(row));
  }

  #line(cells: readonly string[]): string {
    const { paintCell, lineWidthMax } = this.#style;
    const padded = this.#columns.map(({ align }, index) => {
      const text = pad(cells[index] ?? "", this.#widths[index] ?? 0, align);
      return paintCell === undefined ? text : paintCell(text, index);
    });
    const line = padded.join("  ").trimEnd();
    return `${lineWidthMax === undefined ? line : truncate(line, lineWidthMax)}\n`;
  }
}
