/**
 * A query over a file that a test lets grow, so that the test and not the machine's speed decides
 * how far the query is when it is killed. What it gives in the end is compared with what one run
 * over the whole file gives, but for the windows of the last row, which stay open in one of them.
 */
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ids = 97;
const msPerRow = 3;
const rowsPerPart = 4_000;
/** Far behind all others. */
const lastMs = 9_000_000_000;

export class FollowedBids {
  readonly #folder: string;
  readonly #name: string;
  #rows = 0;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    for (const file of [this.#name, this.wholeName]) writeFileSync(join(folder, file), "");
  }

  get wholeName(): string {
    return `whole-${this.#name}`;
  }

  /** Lets the file grow by rows of about six windows. */
  grow(): void {
    let text = "";
    for (const end = this.#rows + rowsPerPart; this.#rows < end; this.#rows += 1) {
      text += `${this.#rows % ids},${this.#rows % 1_009},${this.#rows * msPerRow}\n`;
    }
    this.#append(text);
  }

  /** The row that closes the windows of all others. */
  close(): void {
    this.#append(`0,0,${lastMs}\n`);
  }

  /** A query that follows the file, or reads all of it. The interval is no part of its plan. */
  statements(from: "followed" | "whole", sink: string, checkpointInterval: string): string {
    const isFollowed = from === "followed";
    const file = isFollowed ? this.#name : this.wholeName;
    return `
CREATE LOGICAL SOURCE bids (id UINT64, price UINT64, ts UINT64);
CREATE PHYSICAL SOURCE FOR bids TYPE File
  SET('${file}' AS "SOURCE".FILE_PATH, ${isFollowed ? "TRUE" : "FALSE"} AS "SOURCE".FOLLOW);
SELECT start, id, SUM(price) AS total, COUNT(*) AS n FROM bids
GROUP BY id WINDOW SLIDING(ts, SIZE 4 SEC, ADVANCE BY 2 SEC)
INTO ${sink} SET('${checkpointInterval}' AS "QUERY".CHECKPOINT_INTERVAL, 4096 AS "QUERY".BUFFER_SIZE);
`;
  }

  /** A window of the last row. */
  isLast(startMs: number): boolean {
    return startMs > lastMs / 2;
  }

  #append(text: string): void {
    for (const file of [this.#name, this.wholeName]) appendFileSync(join(this.#folder, file), text);
  }
}
