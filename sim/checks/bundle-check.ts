/** I49: what a request creates comes with one transaction, all of it, or never. */
import type { StreamsReader } from "./streams-state.ts";
import type { Verdict } from "./verdict.ts";

interface Request {
  readonly queries: number;
  /** Whether it was refused for sure. */
  isRefused: boolean;
  isDone: boolean;
}

export class BundleCheck {
  readonly #reader: StreamsReader;
  readonly #verdict: Verdict;
  readonly #requests = new Map<number, Request>();
  #created: string[] = [];

  constructor(reader: StreamsReader, verdict: Verdict) {
    this.#reader = reader;
    this.#verdict = verdict;
  }

  asked(number: number, queries: number): void {
    this.#requests.set(number, { queries, isRefused: false, isDone: false });
  }

  answered(number: number, code: string): void {
    const request = this.#requests.get(number);
    if (request === undefined) return;
    // Of these nobody knows what became.
    request.isRefused = code !== "done" && code !== "commit_unknown";
    this.#verdict.require(!(request.isRefused && request.isDone), "I49", () => {
      return `request ${number} was done, and answered with ${code}`;
    });
    this.#verdict.require(code !== "done" || request.isDone || request.queries === 0, "I49", () => {
      return `request ${number} was answered, and is not done`;
    });
  }

  /** A row of a query, in the transaction under way. */
  created(queryId: string): void {
    this.#created.push(queryId);
  }

  committed(): void {
    const created = this.#created;
    this.#created = [];
    const byRequest = Map.groupBy(created, (queryId) => this.#reader.requestOf(queryId));
    for (const [number, queries] of byRequest) {
      const request = this.#requests.get(number);
      const isWhole = request?.queries === queries.length && !request.isDone && !request.isRefused;
      this.#verdict.require(isWhole, "I49", () => {
        return `${queries.length} queries of request ${number} were created, which asks for ${request?.queries}`;
      });
      if (request !== undefined) request.isDone = true;
    }
  }
}
