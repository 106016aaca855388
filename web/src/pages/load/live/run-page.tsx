/** One run: live while it goes on, its result from then on. */
import { RunResult } from "../run/run-result.tsx";

export function RunPage({ id }: { readonly id: string }) {
  return <RunResult runId={id} />;
}
