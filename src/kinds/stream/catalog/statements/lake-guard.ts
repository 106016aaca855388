/** Tables of the lake that a query reads or writes are not dropped or renamed (SC6). */
import type { LakeTable, TableGuard } from "../../../../data/lake/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Store, Tx } from "../../../../ground/store/index.ts";

export function createLakeGuard(store: Store): TableGuard {
  return {
    awaitContents: async () => false,
    /** Others may write what a query writes: its sink only adds rows. */
    refuseWrite: async () => undefined,
    async checkChange({ table }) {
      const refuse = async (tx: Tx): Promise<boolean> => {
        await refuseUsedTable(tx, table);
        return true;
      };
      await store.read(refuse);
      return refuse;
    },
  };
}

async function refuseUsedTable(tx: Tx, table: LakeTable): Promise<void> {
  const label = table.name;
  const queries = [...(await readUsers(tx, table)), ...(await readSinksOf(tx, table))];
  const [first] = queries;
  if (first === undefined) return;
  const users = queries.map(({ query_id, name, state, is_preview, writes }) => {
    const verb = writes === 1 ? "written" : "read";
    const what = is_preview === 1 ? "preview" : "continuous query";
    return `${verb} by the ${what} ${name ?? query_id}, which is ${state}`;
  });
  const message = `${label} is ${[...new Set(users)].join(", and ")}`;
  throw new OperatingError("reference_violated", "never", message, {
    hint: `Drop what uses it first: DROP QUERY ${first.name ?? first.query_id}.`,
  });
}

const described = ["queries.query_id", "name", "state", "is_preview"] as const;

/** Tables that were there when the query was planned. */
async function readUsers({ db }: Tx, { tableId }: LakeTable) {
  return await db
    .selectFrom("query_lake_tables")
    .innerJoin("queries", "queries.query_id", "query_lake_tables.query_id")
    .select([...described, "writes"])
    .where("table_id", "=", tableId)
    .orderBy("queries.query_id")
    .execute();
}

/** Queries whose sinks name the table, whoever made it (SC57). */
async function readSinksOf({ db }: Tx, { schema, name }: LakeTable) {
  if (schema !== "main") return [];
  const rows = await db
    .selectFrom("query_lake_sinks")
    .innerJoin("queries", "queries.query_id", "query_lake_sinks.query_id")
    .select(described)
    .where("table_key", "=", name.toLowerCase())
    .orderBy("queries.query_id")
    .execute();
  return rows.map((row) => ({ ...row, writes: 1 }));
}
