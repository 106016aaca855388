/** The states of all queries, by one subscription to the catalog. */
import { http } from "../../../../test/e2e/harness.ts";

export interface WatchedQuery {
  readonly query_id: string;
  readonly state: string;
  readonly state_reason: string;
  readonly error_code: string | null;
  readonly error_number: number | null;
}

interface Waiter {
  readonly queryId: string;
  readonly isOver: (row: WatchedQuery | undefined) => boolean;
  readonly done: (row: WatchedQuery | undefined) => void;
}

type Message =
  | { readonly type: "SNAPSHOT"; readonly data: readonly WatchedQuery[] }
  | { readonly type: "EVENT"; readonly op: string; readonly key: string; data?: WatchedQuery };

export class QueryWatch {
  readonly #rows = new Map<string, WatchedQuery>();
  readonly #gone = new Set<string>();
  readonly #waiters = new Set<Waiter>();
  readonly #over = new AbortController();
  readonly #failed = Promise.withResolvers<never>();

  static async open(url: string): Promise<QueryWatch> {
    const watch = new QueryWatch();
    const response = await http(`${url}/api/v1/watch?table=queries`, {
      signal: watch.#over.signal,
    });
    if (response.status !== 200) throw new Error(`watch answered ${response.status}`);
    watch.#failed.promise.catch(() => undefined);
    void watch.#follow(response.body ?? []);
    return watch;
  }

  /**
   * The query's row when `isOver` says so of it; `undefined` is a query whose row is gone. Resolves
   * to `late` after `msMax`.
   */
  async until(
    queryId: string,
    isOver: Waiter["isOver"],
    msMax: number,
  ): Promise<WatchedQuery | undefined | "late"> {
    const { promise, resolve } = Promise.withResolvers<WatchedQuery | undefined | "late">();
    const waiter: Waiter = { queryId, isOver, done: resolve };
    this.#waiters.add(waiter);
    this.#look(waiter);
    const timer = setTimeout(() => resolve("late"), msMax);
    try {
      return await Promise.race([promise, this.#failed.promise]);
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }

  close(): void {
    this.#over.abort();
  }

  async #follow(body: AsyncIterable<Uint8Array> | readonly Uint8Array[]): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for await (const chunk of body) {
        const events = `${text}${decoder.decode(chunk, { stream: true })}`.split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) this.#hear(event);
      }
      this.#failed.reject(new Error("the subscription to queries ended"));
    } catch (thrown) {
      this.#failed.reject(thrown);
    }
  }

  #hear(event: string): void {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    if (data === undefined) return; // A comment that keeps the connection open.
    const message = JSON.parse(data) as Message;
    const touched = message.type === "SNAPSHOT" ? this.#start(message.data) : this.#take(message);
    for (const waiter of this.#waiters) if (touched.has(waiter.queryId)) this.#look(waiter);
  }

  #start(rows: readonly WatchedQuery[]): ReadonlySet<string> {
    for (const row of rows) this.#rows.set(row.query_id, row);
    return new Set(this.#rows.keys());
  }

  #take({ op, key, data }: Extract<Message, { readonly type: "EVENT" }>): ReadonlySet<string> {
    if (op === "DROP") {
      this.#rows.delete(key);
      this.#gone.add(key);
    } else if (data !== undefined) this.#rows.set(key, data);
    return new Set([key]);
  }

  #look({ queryId, isOver, done }: Waiter): void {
    const row = this.#rows.get(queryId);
    const isKnown = row !== undefined || this.#gone.has(queryId);
    if (isKnown && isOver(row)) done(row);
  }
}
