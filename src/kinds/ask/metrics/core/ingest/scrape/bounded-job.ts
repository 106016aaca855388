/** Applies the server's limits to a scrape job that sets none of its own. */
import type { LabelLimits } from "../label-limits.ts";
import type { ScrapeJob } from "./scrape-config.ts";

/** Limit of a target's response in bytes, for a job without `body_size_limit`. */
const bodyBytesMax = 256 * 1024 ** 2;

export function boundedJob(job: ScrapeJob, limits: LabelLimits): ScrapeJob {
  const { labels, labelNameBytes, labelValueBytes, bodyBytes } = job.limits;
  return {
    ...job,
    limits: {
      ...job.limits,
      bodyBytes: bodyBytes || bodyBytesMax,
      labels: labels || limits.labels_per_series,
      labelNameBytes: labelNameBytes || limits.label_name_bytes,
      labelValueBytes: labelValueBytes || limits.label_value_bytes,
    },
  };
}
