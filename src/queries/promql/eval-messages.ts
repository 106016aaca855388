/** What a query process says to the threads that plan and evaluate. `query` is the process's number of the query. */
import type {
  BaseExpr,
  EngineOptions,
  Grid,
  LeafStats,
  QueryParams,
  QueryResult,
  ValueType,
} from "../../promql/core/index.ts";
import type { MemoryPlace } from "./memory-budget.ts";
import type { AnswerShape } from "./result-json.ts";

export interface EvalThreadOptions {
  /** One word: the query that the thread is computing for at the moment; 0: none. */
  readonly current: SharedArrayBuffer;
  /** Of what the queries of all threads hold. */
  readonly memory: MemoryPlace;
  /** Before the first request. */
  readonly warmUp: boolean;
}

export type EvalRequest =
  /** Parses and plans; the plan stays in the thread until it is forgotten. */
  | {
      readonly kind: "plan";
      readonly query: number;
      readonly text: string;
      readonly params: QueryParams;
      readonly options: EngineOptions;
    }
  /** Plans again, one for each span. */
  | { readonly kind: "split"; readonly query: number; readonly spans: readonly Grid[] }
  /** Evaluates when the artifacts are there; answered when all of it is done. */
  | {
      readonly kind: "run";
      readonly query: number;
      /** For each span and leaf, how many artifacts come. */
      readonly resultCounts: readonly (readonly number[])[];
      /** Results are told as notes as they come, and the answer has none. */
      readonly streamed: boolean;
      /** The answer has the results themselves, too. */
      readonly keepResults: boolean;
      /** What the answer warns of besides its own. */
      readonly warnings?: readonly string[];
      readonly shape: AnswerShape;
    }
  | {
      readonly kind: "labels";
      readonly query: number;
      readonly op: "series" | "names" | "values";
      readonly paths: readonly string[];
      /** 0: all. */
      readonly limit: number;
      /** Of the series' JSON. */
      readonly bytesMax: number;
    }
  | {
      readonly kind: "explain";
      readonly query: number;
      readonly text: string;
      readonly params: QueryParams;
      readonly options: EngineOptions;
    }
  | { readonly kind: "format" | "parse"; readonly query: number; readonly text: string };

export type EvalPost =
  | {
      readonly kind: "artifact";
      readonly query: number;
      readonly span: number;
      readonly leaf: number;
      readonly index: number;
      readonly path: string;
    }
  | { readonly kind: "forget"; readonly query: number };

/** One or more of a streamed query's results, in the order of time: `{"resultType":…,"result":[…]}`. */
export interface EvalNote {
  readonly query: number;
  readonly json: string;
}

export interface PlannedQuery {
  readonly kind: "planned";
  readonly resultType: ValueType;
  readonly leaves: readonly BaseExpr[];
  /** Whether its answer may be computed span by span. */
  readonly divisible: boolean;
  readonly planMs: number;
}

export interface RanQuery {
  readonly kind: "ran";
  /** Empty of a streamed query. */
  readonly json: Uint8Array<ArrayBuffer>;
  /** Where `,"stats":…` would stand. */
  readonly statsAt: number;
  readonly resultType: string;
  readonly seriesCount: number;
  readonly pointCount: number;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** For each span and leaf and artifact. */
  readonly stats: readonly (readonly (readonly LeafStats[])[])[];
  readonly decodeMs: number;
  readonly evalMs: number;
  readonly leafTexts: readonly string[];
  /** One for each span, if they are kept. Labels have lost their class on the way from the thread. */
  readonly results: readonly QueryResult[] | undefined;
}

export interface ExplainedQuery {
  readonly kind: "explained";
  readonly resultType: ValueType;
  readonly formatted: string;
  readonly leaves: readonly {
    readonly text: string;
    readonly why: string;
    readonly leaf: BaseExpr;
  }[];
  readonly tree: string;
}

export type EvalAnswer =
  | PlannedQuery
  | { readonly kind: "split"; readonly spans: readonly (readonly BaseExpr[])[] }
  | RanQuery
  | ExplainedQuery
  | { readonly kind: "listed"; readonly items: readonly string[]; readonly truncated: boolean }
  /** `[{"name":"value",…},…]` */
  | { readonly kind: "series"; readonly json: Uint8Array<ArrayBuffer>; readonly truncated: boolean }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tree"; readonly tree: unknown };
