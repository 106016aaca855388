/** What fragments ask of the lake, answered by the process that has it open. */
import {
  findOrCreateTable,
  refuseTableName,
  type TableVersion,
  tableSql,
  withFiles,
} from "../../../../data/lake/index.ts";
import { quoteName } from "../../../../data/sql/core/index.ts";
import { assert } from "../../../../ground/kernel/errors.ts";
import { DialectError, type Field, type Schema } from "../../language/core/index.ts";
import { columnsFor, readSql } from "../core/lake-types.ts";
import { cutAdded, spoolAdded } from "./added-rows.ts";
import type { FragmentLake, LakeCalls, SpooledFile } from "./fragment-lake.ts";
import { spoolRows } from "./spool-rows.ts";
import type { StreamLake } from "./stream-lake.ts";

/** For fragments on the thread of the lake. */
export function fragmentLake(lake: StreamLake): FragmentLake {
  const { stagingDir, clock, prng } = lake;
  return { calls: answerCalls(lake), stagingDir, clock, prng };
}

const unlimited = new AbortController().signal;

export function answerCalls(lake: StreamLake): LakeCalls {
  const { catalog, objects } = lake;
  return {
    lakeSnapshot: async () => (await catalog.current()).snapshot,
    lakeTable: async (name) => {
      const moment = { kind: "current" } as const;
      const [version] = await catalog.resolve([{ schema: undefined, name, moment }]);
      assert(version !== undefined, "a table that is resolved has a version");
      return version;
    },
    lakeVersion: ({ table, snapshot }) => catalog.version(table, snapshot),
    lakeChanges: ({ table, from, to }) => catalog.changes(table, from, to),
    lakeCut: (wanted, signal = unlimited) => cutAdded(lake, wanted, signal),
    lakeSpoolAdded: (wanted, signal = unlimited) => spoolAdded(lake, wanted, signal),
    lakeSpoolTable: ({ version, schema }, signal = unlimited) =>
      spoolTable(lake, version, schema, signal),
    lakeSinkTable: async ({ name, columns }) => {
      refuseTableName(name);
      const found = await findOrCreateTable(lake, { name, columns }, "stream");
      await lake.refuseWrite(found.table);
      return found;
    },
    lakePut: ({ path, localPath }, signal) => objects.put(path, localPath, signal),
  };
}

async function spoolTable(
  lake: StreamLake,
  version: TableVersion,
  schema: Schema,
  signal: AbortSignal,
): Promise<SpooledFile> {
  const values = columnsFor(version.table, schema).map((column, at) => {
    const { name, type } = schema[at] as Field;
    if (column === undefined) throw columnGone(version.table.name, name);
    return `${readSql(column, type.name)} AS ${quoteName(name)}`;
  });
  return await withFiles(lake.objects, [version], signal, async (localPaths) => {
    const rows = tableSql(version, { rowIds: false, localPaths });
    return await spoolRows(lake, `SELECT ${values.join(", ")} FROM (${rows})`, schema, signal);
  });
}

function columnGone(table: string, name: string): DialectError {
  return new DialectError(4002, `the table ${table} has no column ${name} any more`);
}
