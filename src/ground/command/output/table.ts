/** Rows in aligned columns. */
import { displayWidth, pad, printable, truncate } from "./terminal-text.ts";

export interface Column {
  readonly title: string;
  /** Where cells stand; numbers to the right. */
  readonly align: "left" | "right";
}

export interface TableStyle {
  /** A cell wider than this is cut. */
  readonly widthMax: number;
  /** A line longer than this is cut: for a glance at a table, not for reading all of it. */
  readonly lineWidthMax?: number;
  paintTitle(text: string): string;
  /** Called with the cell as it is padded, so that colours do not disturb the widths. */
  paintCell?(text: string, column: number): string;
}

/**
 * Prints rows as they come: widths are those of the title and of the first rows, and a later cell that is
 * wider just sticks out. So a million rows need the memory of a thousand.
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

  /** Writes what is still held back. Idempotent; rows may follow. */
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
