/** Routes every statement to the handler of its kind. Rules: SR1 to SR4, SR6. */
import type { Clock } from "../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../ground/kernel/errors.ts";
import type { QueryId } from "../../ground/kernel/ids.ts";
import { newQueryId } from "../../ground/kernel/new-query-id.ts";
import type { Prng } from "../../ground/kernel/prng.ts";
import { refuseStatement, TokenCursor } from "../sql/core/index.ts";
import type {
  LanguageHandler,
  LocalAnswer,
  ParsedStatement,
  StatementHandler,
  StreamedAnswer,
} from "./core/index.ts";

export interface StatementOptions {
  /** Default: a new one. */
  readonly queryId?: QueryId;
  readonly timeoutMs?: number | undefined;
  readonly mayWrite: boolean;
  /** The file of a COPY. */
  readonly uploadId?: string | undefined;
}

const timeoutMsDefault = 60_000;

export class StatementRouter {
  readonly #handlers = new Map<string, StatementHandler>();
  readonly #languages: LanguageHandler[] = [];
  readonly #clock: Clock;
  readonly #prng: Prng;

  constructor({ clock, prng }: { readonly clock: Clock; readonly prng: Prng }) {
    this.#clock = clock;
    this.#prng = prng;
  }

  register(handler: StatementHandler | LanguageHandler): void {
    if ("language" in handler) {
      this.#languages.push(handler);
      return;
    }
    for (const head of handler.heads) {
      assert(!this.#handlers.has(head), `one kind of statements begins with ${head}`);
      this.#handlers.set(head, handler);
    }
  }

  async run(text: string, options: StatementOptions, signal: AbortSignal): Promise<StreamedAnswer> {
    const statement = this.#parse(text);
    if (statement.role === "operate" && !options.mayWrite) throw mayNotWrite();
    const startedMs = this.#clock.nowMs();
    const { queryId = newQueryId(this.#prng), timeoutMs = timeoutMsDefault, uploadId } = options;
    const answer = await statement.run({ queryId, text, timeoutMs, uploadId, signal });
    if ("stream" in answer) return answer;
    return answerLocally(queryId, answer, this.#clock.nowMs() - startedMs);
  }

  #parse(text: string): ParsedStatement {
    const foreign = this.#languages.find(({ language }) => language.takes(text));
    if (foreign !== undefined) return foreign.parseText(text);
    const cursor = new TokenCursor(text);
    const words = headOf(cursor);
    for (let count = words.length; count > 0; count -= 1) {
      const handler = this.#handlers.get(words.slice(0, count).join(" "));
      if (handler !== undefined) return handler.parse(cursor, (verb) => this.#after(verb));
    }
    const verbs = this.#heads().map((head) => head.split(" ", 1)[0] ?? head);
    throw refuseStatement(cursor, [...new Set(verbs)]);
  }

  #after(verb: string): readonly string[] {
    const begins = `${verb} `;
    return this.#heads().flatMap((head) =>
      head.startsWith(begins) ? [head.slice(begins.length)] : [],
    );
  }

  #heads(): readonly string[] {
    return [...this.#handlers.keys(), ...this.#languages.flatMap(({ heads }) => heads)];
  }
}

const headWordsMax = 4;

function headOf(cursor: TokenCursor): readonly string[] {
  const isReplacing = cursor.isAt("CREATE", "OR", "REPLACE");
  const places = Array.from({ length: headWordsMax }, (_, at) =>
    isReplacing && at > 0 ? at + 2 : at,
  );
  return places.map((at) => cursor.keyword(at) || (cursor.peek(at)?.text ?? ""));
}

function mayNotWrite(): OperatingError {
  const hint = "ask with a token of the role `operate`";
  return new OperatingError("forbidden", "never", "this token may only read", { hint });
}

/** Formats the rows like those of a worker. */
function answerLocally(
  queryId: QueryId,
  { columns, rows }: LocalAnswer,
  durationMs: number,
): StreamedAnswer {
  const summary = {
    row_count: rows.length,
    duration_ms: Math.round(durationMs * 1_000) / 1_000,
    worker_id: null,
    artifact_bytes: 0,
  };
  const lines = [{ query_id: queryId, columns }, ...rows, { summary }];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return { queryId, stream: oneChunk(Buffer.from(text)) };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
