/**
 * A kind of work that is not in the product: it counts the words of a text on a worker, keeps the
 * counts in a watched table, and shows them. It has what a kind has, in one file.
 */
import type { Command } from "commander";
import { z } from "zod";
import { runRows } from "../../src/data/duckdb/index.ts";
import type {
  ControllerPart,
  CoordinatorContext,
  WorkerContext,
  WorkerPart,
} from "../../src/data/parts/index.ts";
import type { StatementHandler } from "../../src/data/statements/core/index.ts";
import { client, commandContext, type RunAction } from "../../src/ground/command/index.ts";
import type { InstallRoutes } from "../../src/ground/http/index.ts";
import { declareErrorCodes } from "../../src/ground/kernel/error-codes.ts";
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import {
  columnTypesOf,
  type TablesOf,
  type WatchedTables,
} from "../../src/ground/store/core/index.ts";
import type { Executor } from "../../src/ground/work/index.ts";

const toyCells = { toys: { toy: "text", words: "number" } } as const;
type ToyTables = TablesOf<typeof toyCells>;

declare module "../../src/ground/store/core/schema.ts" {
  interface ControlSchema extends ToyTables {}
  interface WatchedNames {
    toys: true;
  }
}

const toyErrorCodes = declareErrorCodes({ ToyTorn: { status: 422, work: "never" } });

declare module "../../src/ground/kernel/error-codes.ts" {
  interface ErrorCodes extends Record<keyof typeof toyErrorCodes, true> {}
}

/** The file that it would add to sql/schema. */
export const toySchema = "CREATE TABLE toys (toy TEXT PRIMARY KEY, words BIGINT NOT NULL);";

export const watchedToyTables: WatchedTables = {
  toys: { key: "toy", columns: columnTypesOf(toyCells).toys },
};

const toyWorkKind = "toy_count";

export function createToyPart(context: CoordinatorContext): ControllerPart {
  const { store, metrics } = context;
  const counted = metrics.counter("toys_counted_total", "Toys whose words were counted.");
  const routes: InstallRoutes = (app) => {
    app.post(
      "/api/v1/toys",
      {
        config: { access: "operate" },
        schema: { body: z.object({ toy: z.string(), text: z.string() }) },
      },
      async ({ body: { toy, text } }) => {
        const words = await countOnWorker(context, text);
        await store.catalogTransaction((tx) => tx.insert("toys", { toy, words }));
        counted.inc();
        return { toy, words };
      },
    );
    app.get("/api/v1/toys", { config: { access: "read" } }, async () => ({
      toys: await store.read(({ db }) =>
        db.selectFrom("toys").selectAll().orderBy("toy").execute(),
      ),
    }));
  };
  const statements: StatementHandler = {
    heads: ["SHOW TOYS"],
    parse(cursor) {
      cursor.take("SHOW", "TOYS");
      cursor.end();
      return { role: "read", run: showToys };
    },
  };
  const showToys = async () => {
    const toys = await store.read(({ db }) =>
      db.selectFrom("toys").selectAll().orderBy("toy").execute(),
    );
    const columns = [
      { name: "toy", type: "VARCHAR" },
      { name: "words", type: "BIGINT" },
    ];
    return { columns, rows: toys.map(({ toy, words }) => [toy, words]) };
  };
  const attention = async () => {
    const empty = await store.read(({ db }) =>
      db.selectFrom("toys").selectAll().where("words", "=", 0).execute(),
    );
    return empty.map(({ toy }) => ({
      kind: "toy",
      id: toy,
      name: toy,
      severity: "degraded" as const,
      state: "degraded",
      reason: "it has no words",
      since_ms: null,
    }));
  };
  return { name: "toy", routes, statements, attention: { toys: attention } };
}

async function countOnWorker(context: CoordinatorContext, text: string): Promise<number> {
  const work = { kind: toyWorkKind, body: text, text: "count words" };
  const deps = { ...context, manager: context.node.manager };
  const { stream } = await runRows(deps, work, {}, new AbortController().signal);
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const [, row = "[]"] = Buffer.concat(chunks).toString().split("\n");
  return Number(JSON.parse(row)[0]);
}

export function createToyWorkerPart({ engine }: WorkerContext): WorkerPart {
  const executor: Executor = {
    execute: ({ body }, path, signal, bytesMax) => {
      const torn = body.indexOf("~");
      if (torn >= 0) {
        throw new OperatingError("ToyTorn", "never", "the text is torn", {
          hint: "Mend it.",
          number: 7001,
          position: { line: 1, column: torn + 1 },
        });
      }
      const count = body.split(/\s+/).filter((word) => word !== "").length;
      return engine.with({}).executeToParquet(`SELECT ${count} AS words`, path, signal, bytesMax);
    },
  };
  return { name: "toy", executors: { [toyWorkKind]: executor }, facts: { counts_toys: "yes" } };
}

export function addToyCommands(program: Command, run: RunAction): void {
  client(program.command("toys").summary("list toys")).action(async (options) => {
    await run.ask(async () => {
      const { client: api, terminal } = commandContext(options);
      const { toys } = await api.json<{ toys: ToyTables["toys"][] }>("/api/v1/toys");
      for (const { toy, words } of toys) terminal.out(`${toy} ${words}\n`);
    });
  });
}
