/** Scrape targets that are down. */
import type { AttentionItem } from "../../../ground/http/index.ts";
import type { IngestService } from "../metrics/index.ts";

export async function readTargetsAttention(
  ingest: () => Promise<Pick<IngestService, "targets">>,
): Promise<readonly AttentionItem[]> {
  const targets = await (await ingest()).targets();
  return targets
    .filter(({ health }) => health === "down")
    .map(({ pool, url, lastError, lastScrapeMs }) => ({
      kind: "scrape_target",
      id: url,
      name: `${pool} ${url}`,
      severity: "degraded",
      state: "down",
      reason: lastError,
      since_ms: lastScrapeMs ?? null,
    }));
}
