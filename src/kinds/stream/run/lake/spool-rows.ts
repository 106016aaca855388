/** Writes rows of the lake to a file of the spool, as `CsvRows` reads them. */
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { quoteName, quoteText } from "../../../../data/sql/core/index.ts";
import { randomText } from "../../../../ground/kernel/prng.ts";
import type { Schema } from "../../language/core/index.ts";
import type { SpooledFile } from "./fragment-lake.ts";
import type { StreamLake } from "./stream-lake.ts";

/** Writes the rows of a SELECT whose columns are those of `schema`, by name. */
export async function spoolRows(
  { engine, spoolDir, prng }: StreamLake,
  select: string,
  schema: Schema,
  signal: AbortSignal,
): Promise<SpooledFile> {
  const path = join(spoolDir, `rows-${randomText(prng, 16)}.csv`);
  const texts = schema.flatMap(({ name, type }) =>
    type.name === "VARSIZED" ? [quoteName(name)] : [],
  );
  const quoted = texts.length === 0 ? "" : `, FORCE_QUOTE (${texts.join(", ")})`;
  const options = `FORMAT csv, HEADER false, DELIMITER ',', QUOTE '"', ESCAPE '"', NULLSTR ''${quoted}`;
  const copy = `COPY (${select}) TO ${quoteText(path)} (${options})`;
  try {
    await engine.withSession([], signal, (session) => session.run(copy, signal));
    return { path };
  } catch (thrown) {
    await unlink(path).catch(() => undefined);
    throw thrown;
  }
}
