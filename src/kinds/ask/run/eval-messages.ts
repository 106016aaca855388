/**
 * Messages from a query process to its evaluation threads. `query` is the process's number of the
 * query.
 */

import type { MemoryPlace } from "../../../ground/process/core/index.ts";
import type { LocalArtifact } from "../../../ground/work/core/index.ts";
import type {
  BaseExpr,
  EngineOptions,
  Grid,
  LeafStats,
  QueryParams,
  QueryResult,
  ValueType,
} from "../promql/core/index.ts";
import type { AnswerShape } from "./result-json.ts";

export interface EvalThreadOptions {
  /** One word: the query that the thread computes; 0 when idle. */
  readonly current: SharedArrayBuffer;
  /** The thread's place in the memory budget of all queries. */
  readonly memory: MemoryPlace;
  /** Whether the thread warms up before its first request. */
  readonly warmUp: boolean;
}

/** Parses and plans. The plan stays in the thread until the query has run or is forgotten. */
export interface PlanRequest {
  readonly query: number;
  readonly text: string;
  readonly params: QueryParams;
  readonly options: EngineOptions;
  /** Whether it only runs code: the thread's own warm-up goes on. */
  readonly isRehearsal?: boolean;
}

export interface RunRequest {
  readonly query: number;
  /** As in `PlanRequest`. */
  readonly isRehearsal?: boolean;
  /** The number of artifacts of each leaf, by span. */
  readonly resultCounts: readonly (readonly number[])[];
  /** The first artifact, or undefined when there is none; the others follow as notes. */
  readonly first: ArtifactNote | undefined;
  /** Whether results are sent as they come. Then the answer has none. */
  readonly streamed: boolean;
  /** Whether the answer also has the results themselves. */
  readonly keepResults: boolean;
  /** Warnings of the answer besides the evaluation's own. */
  readonly warnings?: readonly string[];
  readonly shape: AnswerShape;
}

export interface LabelsRequest {
  readonly query: number;
  readonly op: "series" | "names" | "values";
  readonly contents: readonly LocalArtifact["content"][];
  /** 0 means no limit. */
  readonly limit: number;
  /** The maximum size of the series' JSON. */
  readonly bytesMax: number;
}

export interface TextRequest {
  readonly query: number;
  readonly text: string;
}

export interface ArtifactNote {
  readonly query: number;
  readonly span: number;
  readonly leaf: number;
  readonly index: number;
  readonly content: LocalArtifact["content"];
  readonly sizeBytes: number;
}

export interface EvalThread {
  readonly requests: {
    plan(request: PlanRequest): PlannedQuery;
    /** Plans again, once for each span. */
    split(request: {
      readonly query: number;
      readonly spans: readonly Grid[];
    }): readonly (readonly BaseExpr[])[];
    /**
     * Evaluates when the artifacts are there, and answers when all is done. A streamed query sends
     * its results before, in time order: `{"resultType":…,"result":[…]}`.
     */
    run(request: RunRequest, json: string): RanQuery;
    labels(request: LabelsRequest): MergedLabels;
    explain(request: PlanRequest): ExplainedQuery;
    format(request: TextRequest): string;
    parse(request: TextRequest): unknown;
  };
  readonly notes: { artifact: ArtifactNote; forget: number };
}

export interface PlannedQuery {
  readonly resultType: ValueType;
  readonly leaves: readonly BaseExpr[];
  /** Whether the answer can be computed span by span. */
  readonly divisible: boolean;
  readonly planMs: number;
}

export interface RanQuery {
  /** Empty for a streamed query. */
  readonly json: Uint8Array<ArrayBuffer>;
  /** The offset at which `,"stats":…` is inserted. */
  readonly statsAt: number;
  readonly resultType: string;
  readonly seriesCount: number;
  readonly pointCount: number;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** Indexed by span, leaf and artifact. */
  readonly stats: readonly (readonly (readonly LeafStats[])[])[];
  readonly decodeMs: number;
  readonly evalMs: number;
  readonly leafTexts: readonly string[];
  /** One result for each span, if they are kept. Labels lose their class between threads. */
  readonly results: readonly QueryResult[] | undefined;
}

export interface ExplainedQuery {
  readonly resultType: ValueType;
  readonly formatted: string;
  readonly leaves: readonly {
    readonly text: string;
    readonly why: string;
    readonly leaf: BaseExpr;
  }[];
  readonly tree: string;
}

export type MergedLabels =
  | { readonly kind: "listed"; readonly items: readonly string[]; readonly truncated: boolean }
  /** `[{"name":"value",…},…]` */
  | {
      readonly kind: "series";
      readonly json: Uint8Array<ArrayBuffer>;
      readonly truncated: boolean;
    };
