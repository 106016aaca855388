/** What happens to late rows, by the policy of the query. */
import { DialectError, type QuerySettings } from "../../../language/core/index.ts";
import type { Batch } from "../batch.ts";
import type { LateRows } from "../operator.ts";
import type { Station } from "./station.ts";

export class LateCounter implements LateRows {
  readonly #station: Station;
  readonly #settings: QuerySettings;
  readonly #toSide: (batch: Batch) => void;

  constructor(station: Station, settings: QuerySettings, toSide: (batch: Batch) => void) {
    this.#station = station;
    this.#settings = settings;
    this.#toSide = toSide;
  }

  add(batch: Batch, rows: Int32Array, lateMs: Float64Array): void {
    if (rows.length === 0) return;
    const { late } = this.#settings;
    if (late === "fail") {
      const worst = lateMs.reduce((most, each) => Math.max(most, each), 0);
      throw new DialectError(
        3014,
        `${rows.length === 1 ? "a row" : `${rows.length} rows`} came up to ${worst} ms behind ` +
          "the watermark, and every window for it was closed",
        { hint: "Allow disorder with WATERMARK(time, 5 SEC), or SET('drop' AS \"QUERY\".LATE)." },
      );
    }
    this.#station.lateRows += rows.length;
    if (late !== "side") return;
    const lateness = new BigUint64Array(batch.rowCount);
    for (const [index, row] of rows.entries()) {
      lateness[row] = BigInt(Math.ceil(lateMs[index] ?? 0));
    }
    this.#toSide({
      rowCount: batch.rowCount,
      columns: [
        ...batch.columns,
        { kind: "fixed", type: "UINT64", values: lateness, validity: undefined },
      ],
      selection: rows,
    });
  }
}
