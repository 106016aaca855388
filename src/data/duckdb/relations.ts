/**
 * The tables that a statement sees: views in its connection's own catalog, created before it and
 * dropped before the next one begins (QE1).
 */
import { quoteName } from "../sql/core/index.ts";
import type { Relation } from "./engine-messages.ts";
import type { Lane } from "./statement-pool.ts";

const mainSchema = "main";

export async function withRelations<T>(
  lane: Lane,
  relations: readonly Relation[],
  run: () => Promise<T>,
): Promise<T> {
  if (relations.length === 0) return await run();
  const schemas = new Set(relations.map(({ schema }) => schema));
  try {
    for (const schema of schemas) await make(lane, `SCHEMA IF NOT EXISTS ${quoteName(schema)}`);
    for (const { schema, name, sql } of relations) {
      await make(lane, `VIEW ${quoteName(schema)}.${quoteName(name)} AS ${sql}`);
    }
    return await run();
  } finally {
    await forget(lane, relations, schemas);
  }
}

async function make({ connection }: Lane, what: string): Promise<void> {
  await connection.run(`CREATE ${what}`);
}

/** A late interrupt meant for the statement may stop the drop, which is then repeated. */
async function forget(
  { connection }: Lane,
  relations: readonly Relation[],
  schemas: ReadonlySet<string>,
): Promise<void> {
  const drops = [
    ...relations
      .filter(({ schema }) => schema === mainSchema)
      .map(({ name }) => `VIEW IF EXISTS ${mainSchema}.${quoteName(name)}`),
    ...[...schemas]
      .filter((schema) => schema !== mainSchema)
      .map((schema) => `SCHEMA IF EXISTS ${quoteName(schema)} CASCADE`),
  ];
  for (const drop of drops) {
    try {
      await connection.run(`DROP ${drop}`);
    } catch {
      await connection.run(`DROP ${drop}`);
    }
  }
}
