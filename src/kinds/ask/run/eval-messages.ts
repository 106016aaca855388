/** What a query process says to the threads that plan and evaluate. `query` is the process's number of the query. */
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

/** Parses and plans; the plan stays in the thread until the query has run, or is forgotten. */
export interface PlanRequest {
  readonly query: number;
  readonly text: string;
  readonly params: QueryParams;
  readonly options: EngineOptions;
}

export interface RunRequest {
  readonly query: number;
  /** For each span and leaf, how many artifacts come. */
  readonly resultCounts: readonly (readonly number[])[];
  /** The first of them, or none where none comes; the others follow as notes. */
  readonly first: ArtifactNote | undefined;
  /** Results are told as they come, and the answer has none. */
  readonly streamed: boolean;
  /** The answer has the results themselves, too. */
  readonly keepResults: boolean;
  /** What the answer warns of besides its own. */
  readonly warnings?: readonly string[];
  readonly shape: AnswerShape;
}

export interface LabelsRequest {
  readonly query: number;
  readonly op: "series" | "names" | "values";
  readonly contents: readonly LocalArtifact["content"][];
  /** 0: all. */
  readonly limit: number;
  /** Of the series' JSON. */
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
    /** Plans again, one for each span. */
    split(request: {
      readonly query: number;
      readonly spans: readonly Grid[];
    }): readonly (readonly BaseExpr[])[];
    /**
     * Evaluates when the artifacts are there; answered when all of it is done. On the way one or
     * more of a streamed query's results, in the order of time: `{"resultType":…,"result":[…]}`.
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
  /** Whether its answer may be computed span by span. */
  readonly divisible: boolean;
  readonly planMs: number;
}

export interface RanQuery {
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
