/** Why a name means no worker, and what could be written, for errors (SC18). */
import type { NamedWorker } from "./find-worker.ts";

const shownMax = 20;

export function whyNoWorker(
  workers: readonly NamedWorker[],
  written: string,
): { readonly message: string; readonly hint: string } {
  const key = written.toUpperCase();
  const onHost = workers.filter(({ host }) => host.toUpperCase() === key);
  if (onHost.length > 1) {
    const choices = onHost.map(({ host, grpcPort }) => `${host}:${grpcPort}`).join(", ");
    return {
      message: `${onHost.length} workers are on the host ${written}`,
      hint: `Name one of them: ${choices}.`,
    };
  }
  const known = workers.slice(0, shownMax).map(({ workerId, label }) => label ?? workerId);
  return {
    message: `there is no worker ${written}`,
    hint: known.length === 0 ? "There are no workers." : `There are: ${known.join(", ")}.`,
  };
}
