/** The engine that scripts run against: in memory, or a whole cluster. */
import type { QueryParams, QueryResult, RawSeries } from "../core/index.ts";

/** An annotation's text with its position, and without. */
export interface AnswerAnnotation {
  readonly level: "warning" | "info";
  readonly text: string;
  readonly bareText: string;
}

export type ScriptAnswer =
  | {
      readonly kind: "result";
      readonly result: QueryResult;
      readonly annotations: readonly AnswerAnnotation[];
    }
  | { readonly kind: "error"; readonly error: string };

export interface ScriptEngine {
  /** How many queries it can usefully run at the same time. */
  readonly concurrency: number;
  /** Removes all data. `lastMs` is the time of the last sample until the next call. */
  clear(lastMs: number): Promise<void>;
  /** Adds samples, in order of time and later than those loaded before for the same series. */
  load(series: readonly RawSeries[]): Promise<void>;
  /** Never rejects because of an invalid query. */
  query(text: string, params: QueryParams): Promise<ScriptAnswer>;
}
