/** What scripts are run against: the engine in memory, or a whole cluster. */
import type { QueryParams, QueryResult, RawSeries } from "../core/index.ts";

/** Of an annotation: the text with its position, as people see it, and the text before the position. */
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
  /** How many queries it can usefully be asked at the same time. */
  readonly concurrency: number;
  /** Forgets everything. `lastMs` is the time of the last sample that will be loaded until the next one. */
  clear(lastMs: number): Promise<void>;
  /** New samples of series, each in the order of time and later than what was loaded of that series before. */
  load(series: readonly RawSeries[]): Promise<void>;
  /** Never rejects for what is wrong with the query. */
  query(text: string, params: QueryParams): Promise<ScriptAnswer>;
}
