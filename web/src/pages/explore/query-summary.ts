/** The last part of a `/api/v1/query_stream` answer: facts about the query. */
export interface LeafSummary {
  readonly text: string;
  readonly output: "raw" | "steps" | "partials";
  readonly segmentCount: number;
  readonly fromHead: boolean;
  readonly works: readonly {
    readonly shard: number;
    readonly workerId?: string;
    readonly attempts: number;
    readonly samples: number;
    readonly series: number;
    readonly artifactBytes: number;
    readonly workMs: number;
  }[];
}

export interface QuerySummary {
  readonly queryId: string;
  readonly resultType: string;
  readonly seriesCount: number;
  readonly pointCount: number;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  readonly stages: Readonly<
    Record<
      "planMs" | "queueMs" | "workMs" | "fetchMs" | "evalMs" | "totalMs" | "firstResultMs",
      number
    >
  >;
  readonly leaves: readonly LeafSummary[];
}
