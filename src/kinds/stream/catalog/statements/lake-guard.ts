/** Tables of the lake that a query reads or writes are not dropped or renamed (SC6). */
import type { TableGuard } from "../../../../data/lake/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Store, Tx } from "../../../../ground/store/index.ts";

export function createLakeGuard(store: Store): TableGuard {
  return {
    awaitContents: async () => false,
    /** Others may write what a query writes: its sink only adds rows. */
    refuseWrite: async () => undefined,
    async checkChange({ table }) {
      const refuse = async (tx: Tx): Promise<boolean> => {
        await refuseUsedTable(tx, table.tableId, table.name);
        return true;
      };
      await store.read(refuse);
      return refuse;
    },
  };
}

async function refuseUsedTable({ db }: Tx, tableId: number, label: string): Promise<void> {
  const queries = await db
    .selectFrom("query_lake_tables")
    .innerJoin("queries", "queries.query_id", "query_lake_tables.query_id")
    .select(["queries.query_id", "name", "state", "is_preview", "writes"])
    .where("table_id", "=", tableId)
    .orderBy("queries.query_id")
    .execute();
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
