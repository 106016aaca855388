/** `stats` in an answer: Prometheus's figures together with Capstan's own. */
import type { RanQuery } from "./eval-messages.ts";
import type { QuerySummary } from "./promql-service.ts";

export function withStats(ran: RanQuery, summary: QuerySummary): Uint8Array {
  const stats = Buffer.from(`,"stats":${JSON.stringify(statsOf(summary))}`);
  return Buffer.concat([ran.json.subarray(0, ran.statsAt), stats, ran.json.subarray(ran.statsAt)]);
}

function statsOf(summary: QuerySummary): unknown {
  const { stages, leaves } = summary;
  const samples = leaves.flatMap(({ works }) => works).reduce((sum, work) => sum + work.samples, 0);
  const evalMs = stages.totalMs - stages.queueMs;
  return {
    timings: {
      evalTotalTime: evalMs / 1000,
      resultSortTime: 0,
      queryPreparationTime: stages.planMs / 1000,
      innerEvalTime: stages.evalMs / 1000,
      execQueueTime: stages.queueMs / 1000,
      execTotalTime: stages.totalMs / 1000,
    },
    samples: {
      totalQueryableSamples: samples,
      samplesRead: samples,
      peakSamples: summary.pointCount,
    },
    capstan: summary,
  };
}
