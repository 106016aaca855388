/** Requests of the streams catalog over HTTP, with the dialect's number of an error. */
import { http, sql } from "../../../../test/e2e/harness.ts";

/** A statement that was refused, or a query that failed. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  /** 0 for an error that has no number in the dialect. */
  readonly number: number;

  constructor(number: number, message: string) {
    super(message);
    this.number = number;
  }
}

export interface Created {
  readonly object: string;
  readonly name: string | null;
  readonly id: string;
}

export interface QueryDetail {
  readonly deployed: readonly { readonly fragment: string; readonly worker_id: string }[];
}

interface Problem {
  readonly code: string;
  readonly message: string;
  readonly number?: number;
}

export class StreamRequests {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Executes all of them or none. The result has an entry for each, in their order. */
  async bundle(statements: readonly string[]): Promise<readonly Created[]> {
    if (statements.length === 0) return [];
    const url = `${this.#url}/api/v1/streams/bundles`;
    const response = await http(url, { method: "POST", body: { statements } });
    const body: unknown = await response.json();
    if (response.status === 200) return (body as { answers: readonly Created[] }).answers;
    throw refused(body as Problem);
  }

  /** One statement, as at the prompt. */
  async statement(text: string): Promise<void> {
    const { error } = await sql(this.#url, text);
    if (error !== undefined) throw refused(error);
  }

  async query(queryId: string): Promise<QueryDetail> {
    return await this.#get<QueryDetail>(`queries/${queryId}`);
  }

  /** How many there are of what the path lists. */
  async count(path: string): Promise<number> {
    return (await this.#get<{ items: readonly unknown[] }>(path)).items.length;
  }

  /** The slots that fragments hold on all workers. */
  async slotsUsed(): Promise<number> {
    const { items } = await this.#get<{ items: { slots_used: number }[] }>("workers");
    return items.reduce((sum, { slots_used }) => sum + slots_used, 0);
  }

  async #get<T>(path: string): Promise<T> {
    const response = await http(`${this.#url}/api/v1/streams/${path}`);
    const body: unknown = await response.json();
    if (response.status !== 200) throw refused(body as Problem);
    return body as T;
  }
}

function refused({ code, message, number = 0 }: Problem): RefusedError {
  return new RefusedError(number, `${code}: ${message}`);
}
