import type { PromqlServiceDeps } from "./service-options.ts";

/** What answers have to warn of while the head cannot be read. */
export function headWarnings({ headMissing }: Pick<PromqlServiceDeps, "headMissing">): string[] {
  const reason = headMissing?.();
  return reason === undefined ? [] : [`the newest samples are missing: ${reason}`];
}
