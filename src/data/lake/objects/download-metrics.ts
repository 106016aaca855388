import type { Metrics } from "../../../ground/observe/index.ts";
import type { DownloadObserver } from "./download-cache.ts";

/** The metrics of a process that reads a remote lake. */
export function createDownloadMetrics(metrics: Metrics, usedBytes: () => number): DownloadObserver {
  metrics.gauge("parquet_cache_bytes", "Bytes of downloaded files of the lake.", [], usedBytes);
  const duration = metrics.histogram(
    "download_duration_seconds",
    "Downloads of the lake's files into the cache.",
    ["outcome"],
  );
  const bytes = metrics.counter("download_bytes_total", "Bytes of downloads that were done.");
  const lookups = metrics.counter(
    "parquet_cache_lookups_total",
    "Files of the lake that were asked for, by whether the cache had them.",
    ["outcome"],
  );
  return {
    lookedUp: (hit) => lookups.inc({ outcome: hit ? "hit" : "miss" }),
    downloadEnded(outcome, durationMs, sizeBytes) {
      duration.observe({ outcome }, durationMs / 1000);
      if (outcome === "done") bytes.inc(sizeBytes);
    },
  };
}
