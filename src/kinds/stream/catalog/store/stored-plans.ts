/** A query's plan and its secrets, in the store and out of it (SC9, SC11). */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx, Tx } from "../../../../ground/store/index.ts";
import { revealSecretsOfPlan, type Secret, secretOwnersOf } from "../core/secrets.ts";
import { type StoredPlan, storedPlanVersion } from "../core/stored-plan.ts";

/** As the row has it. Throws `schema_newer` for a plan of a newer format. */
export async function readPlan(
  { db }: Tx,
  queryId: string,
): Promise<{ readonly plan: StoredPlan; readonly family: string | null }> {
  const { plan_version, plan, state_family } = await db
    .selectFrom("query_plans")
    .select(["plan_version", "plan", "state_family"])
    .where("query_id", "=", queryId)
    .executeTakeFirstOrThrow();
  if (plan_version <= storedPlanVersion) {
    return { plan: JSON.parse(plan) as StoredPlan, family: state_family };
  }
  throw new OperatingError(
    "schema_newer",
    "never",
    `the plan of the query ${queryId} has the format ${plan_version}, the newest known is ${storedPlanVersion}`,
    { hint: "Run the version of Capstan that made it, or a newer one." },
  );
}

/** The plan of a query as a worker needs it, with the values of its secrets. Throws the same. */
export async function readStoredPlan(tx: Tx, queryId: string): Promise<StoredPlan> {
  const { plan: stored } = await readPlan(tx, queryId);
  const named = secretOwnersOf(stored.plan);
  const used = named.length === 0 ? new Set() : await readUsed(tx, queryId);
  const owners = named.filter((owner) => used.has(owner));
  if (owners.length === 0) return stored;
  const rows = await tx.db
    .selectFrom("stream_secrets")
    .selectAll()
    .where("owner_id", "in", owners)
    .execute();
  const values = new Map(rows.map((row) => [`${row.owner_id}/${row.place}`, row.value]));
  const lookUp = (owner: string, place: string) => values.get(`${owner}/${place}`);
  return { ...stored, plan: revealSecretsOfPlan(stored.plan, lookUp) };
}

/** Whose secrets a query's worker is told: its own, and those of its sources and sinks (SC55). */
async function readUsed({ db }: Tx, queryId: string): Promise<ReadonlySet<string>> {
  const sources = await db
    .selectFrom("query_physical_sources")
    .select("physical_source_id")
    .where("query_id", "=", queryId)
    .execute();
  const sinks = await db
    .selectFrom("query_sinks")
    .select("sink_id")
    .where("query_id", "=", queryId)
    .execute();
  const ids = [...sources.map((row) => row.physical_source_id), ...sinks.map((row) => row.sink_id)];
  return new Set([queryId, ...ids]);
}

export async function insertSecrets({ db }: CatalogTx, secrets: readonly Secret[]): Promise<void> {
  if (secrets.length === 0) return;
  const rows = secrets.map(({ ownerId, place, value }) => ({ owner_id: ownerId, place, value }));
  await db.insertInto("stream_secrets").values(rows).execute();
}

export async function deleteSecrets({ db }: CatalogTx, ownerId: string): Promise<void> {
  await db.deleteFrom("stream_secrets").where("owner_id", "=", ownerId).execute();
}
