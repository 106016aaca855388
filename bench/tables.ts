/**
 * Dynamic tables, from what a refresh costs to how fresh a graph of a hundred stays. Parts, for
 * `--only`:
 *
 *   full         a full refresh beside the same COPY … TO Parquet in plain DuckDB, by turns
 *   incremental  an incremental refresh beside a full one, after the same changes; the contents
 *                must be the same
 *   auto         what AUTO takes beside full refreshes alone, over a mix of small and large changes
 *   claims       claims a second, beside other queues on the same Postgres
 *   lag          from a commit in a source to the dynamic table that shows it
 *   split        a refresh on two workers beside one
 *   checksums    a table's first open with its files verified, beside one without
 *   graph        a hundred tables in five levels while their sources change
 */
import { type BenchOptions, checkPart, type Report } from "./report.ts";
import { benchAuto } from "./tables/auto.ts";
import { benchChecksums } from "./tables/checksums.ts";
import { benchClaims } from "./tables/claims.ts";
import { benchFull } from "./tables/full.ts";
import { benchGraph } from "./tables/graph.ts";
import { benchIncremental } from "./tables/incremental.ts";
import { benchLag } from "./tables/lag.ts";
import { benchSplit } from "./tables/split.ts";

const parts: readonly [
  name: string,
  run: (options: BenchOptions, report: Report) => Promise<void>,
][] = [
  ["full", benchFull],
  ["incremental", benchIncremental],
  ["auto", benchAuto],
  ["claims", benchClaims],
  ["lag", benchLag],
  ["split", benchSplit],
  ["checksums", benchChecksums],
  ["graph", benchGraph],
];

export async function benchTables(options: BenchOptions, report: Report): Promise<void> {
  checkPart(
    options,
    parts.map(([name]) => name),
  );
  for (const [name, run] of parts) {
    if (options.only !== undefined && options.only !== name) continue;
    report.say(`tables: ${name}`);
    await run(options, report);
  }
}
