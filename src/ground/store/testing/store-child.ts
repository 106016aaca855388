/**
 * Another process on the same store: `node store-child.ts URL COMMAND [ARGUMENT]`. It prints
 * `ready` when it has opened the store, waits for a line, and prints `done` after the command.
 */
import { once } from "node:events";
import { sql } from "kysely";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createSystemPrng } from "../../kernel/node/system-random.ts";
import type { Store } from "../core/store.ts";
import { openStore, parseStoreUrl } from "../setup/open-store.ts";
import { workerRow } from "./worker-row.ts";

const [url = "", command = "", argument = ""] = process.argv.slice(2);

const store = await openStore({
  ...parseStoreUrl(url),
  clock: realClock,
  prng: createSystemPrng(),
  logger: silentLogger,
});
process.stdout.write("ready\n");
await once(process.stdin, "data");
try {
  await perform(store);
  process.stdout.write("done\n");
} catch (error) {
  const code = error instanceof OperatingError ? error.code : "bug";
  process.stdout.write(`failed ${code} ${messageOf(error)}\n`);
}
await store.close();
process.stdin.destroy();

async function perform(store: Store): Promise<void> {
  switch (command) {
    case "work":
      for (let count = 0; count < Number(argument); count += 1) {
        await increment(store);
        const row = workerRow(`${process.pid}-${count}`);
        await store.catalogTransaction((tx) => tx.insert("workers", row));
      }
      return;
    case "fill": // Until something fails.
      for (let count = 0; ; count += 1) {
        const row = workerRow(`fill-${count}`, { state_reason: "x".repeat(20_000) });
        await store.catalogTransaction((tx) => tx.insert("workers", row));
        process.stdout.write(`committed ${count}\n`);
      }
    case "hang": // Inside a transaction that has written.
      await store.catalogTransaction((tx) => tx.insert("workers", workerRow("committed")));
      await store.catalogTransaction(async (tx) => {
        await tx.insert("workers", workerRow("half-done"));
        process.stdout.write("hanging\n");
        await new Promise(() => undefined);
      });
      return;
    default:
      throw new Error(`unknown command ${command}`);
  }
}

/** Reads and writes, which is safe only in a serializable transaction. */
async function increment(store: Store): Promise<void> {
  await store.transaction(async ({ db }) => {
    const found = await sql<{ epoch: number }>`
      SELECT epoch FROM coordinator_leases WHERE name = 'counter'`.execute(db);
    const next = (found.rows[0]?.epoch ?? 0) + 1;
    await sql`UPDATE coordinator_leases SET epoch = ${next} WHERE name = 'counter'`.execute(db);
  });
}
