/** What a program can do with the Capstan that it has opened: statements, and waiting. */
import { isBlank, splitStatements } from "../../data/sql/core/index.ts";
import { Bundles } from "../../data/statements/cli/bundles.ts";
import type { ApiClient } from "../../ground/command/client/api-client.ts";
import { linesOf } from "../../ground/command/client/lines.ts";
import { exitCodes } from "../../ground/command/exit-codes.ts";
import { Failure } from "../../ground/command/failure.ts";
import { sleep } from "../../ground/kernel/clock.ts";
import { realClock as clock } from "../../ground/kernel/node/real-clock.ts";
import { streamLanguage } from "../../kinds/stream/catalog/cli/stream-language.ts";
import type { Capstan, CapstanAnswer, CapstanQuery } from "./open-capstan.ts";

export interface EmbeddedParts {
  readonly url: string;
  readonly dataDir: string;
  readonly client: ApiClient;
  readonly close: () => Promise<void>;
}

interface Trailer {
  readonly columns?: CapstanAnswer["columns"];
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
}

const waitMsDefault = 30_000;
const lookMs = 100;
/** Those that a query leaves by a request only. */
const finalStates: ReadonlySet<string> = new Set(["FAILED", "TERMINATED", "STOPPED", "PAUSED"]);

export class EmbeddedCapstan implements Capstan {
  readonly url: string;
  readonly dataDir: string;
  readonly #parts: EmbeddedParts;
  #closed: Promise<void> | undefined;

  constructor(parts: EmbeddedParts) {
    this.#parts = parts;
    this.url = parts.url;
    this.dataDir = parts.dataDir;
  }

  async run(script: string): Promise<readonly CapstanAnswer[]> {
    const { statements, rest } = splitStatements(script, [streamLanguage]);
    const bundles = new Bundles();
    const answers: CapstanAnswer[] = [];
    for (const statement of isBlank(rest) ? statements : [...statements, rest.trim()]) {
      const next = bundles.take(statement);
      if (next !== undefined) answers.push(await this.#ask(next));
    }
    if (!bundles.isOpen) return answers;
    throw new Failure("usage", "BEGIN without COMMIT: nothing of it was done", exitCodes.usage);
  }

  async rows(script: string): Promise<CapstanAnswer["rows"]> {
    return (await this.run(script)).at(-1)?.rows ?? [];
  }

  async waitForQuery(
    name: string,
    state = "RUNNING",
    { timeoutMs = waitMsDefault }: { readonly timeoutMs?: number } = {},
  ): Promise<CapstanQuery> {
    const deadlineMs = clock.nowMs() + timeoutMs;
    for (;;) {
      const query = await this.#query(name);
      if (query.state === state) return query;
      if (finalStates.has(query.state) || clock.nowMs() >= deadlineMs) {
        const message = `the query ${name} is ${query.state}, not ${state}: ${query.state_reason}`;
        throw new Failure("deadline_exceeded", message, exitCodes.failure);
      }
      await sleep(clock, lookMs);
    }
  }

  async #query(name: string): Promise<CapstanQuery> {
    const path = `/api/v1/streams/queries/${encodeURIComponent(name)}`;
    return await this.#parts.client.json<CapstanQuery>(path);
  }

  async close(): Promise<void> {
    this.#closed ??= this.#parts.close();
    await this.#closed;
  }

  async #ask(sql: string): Promise<CapstanAnswer> {
    const response = await this.#parts.client.open("/api/v1/sql", {
      method: "POST",
      body: { sql },
    });
    const rows: unknown[][] = [];
    let columns: CapstanAnswer["columns"] = [];
    for await (const line of linesOf(response)) {
      const read = JSON.parse(line) as unknown[] | Trailer;
      if (Array.isArray(read)) rows.push(read);
      else if (read.columns !== undefined) columns = read.columns;
      else if (read.error !== undefined) {
        const { code, message, hint } = read.error;
        throw new Failure(code, message, exitCodes.failure, hint);
      }
    }
    return { columns, rows };
  }
}
