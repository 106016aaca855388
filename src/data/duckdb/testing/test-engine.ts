/** A real engine in a temporary directory, for tests. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { type Engine, type EngineOptions, type EngineSession, startEngine } from "../engine.ts";

export interface TestEngine {
  readonly engine: Engine;
  readonly dir: string;
  path(): string;
  close(): Promise<void>;
}

export const never: AbortSignal = new AbortController().signal;

export async function startTestEngine(options: Partial<EngineOptions> = {}): Promise<TestEngine> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-engine-"));
  const engine = await startEngine({
    memoryLimitBytes: 512 * 1024 * 1024,
    treeLimitBytes: 1024 ** 3,
    threads: 2,
    spoolDir: dir,
    connections: 2,
    clock: realClock,
    logger: silentLogger,
    ...options,
  }).catch(async (thrown: unknown) => {
    await rm(dir, { recursive: true, force: true });
    throw thrown;
  });
  let next = 1;
  return {
    engine,
    dir,
    path: () => join(dir, `result-${next++}.parquet`),
    close: async () => {
      await engine.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export interface TestSession extends EngineSession {
  close(): Promise<void>;
}

/** A session that lasts until it is closed, for tests of several at a time. */
export async function openTestSession(
  engine: Pick<Engine, "withSession">,
  relations: Parameters<Engine["withSession"]>[0],
  signal: AbortSignal,
): Promise<TestSession> {
  const opened = Promise.withResolvers<EngineSession>();
  const end = Promise.withResolvers<void>();
  const ended = engine.withSession(relations, signal, async (session) => {
    opened.resolve(session);
    await end.promise;
  });
  ended.catch(opened.reject);
  const session = await opened.promise;
  return {
    run: (...statement) => session.run(...statement),
    objects: (...statement) => session.objects(...statement),
    close: async () => {
      end.resolve();
      await ended;
    },
  };
}

/** The whole NDJSON of a statement's result. */
export async function rowsOf(
  { engine, path }: Pick<TestEngine, "engine" | "path">,
  sql: string,
): Promise<{ readonly columns: readonly unknown[]; readonly text: string }> {
  const file = path();
  await engine.executeToParquet(sql, file, never);
  const rows = await engine.openRows(file, never);
  return { columns: rows.columns, text: await textOf(rows) };
}

export async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
