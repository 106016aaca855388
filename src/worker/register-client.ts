/** Registers a worker with the leading coordinator, whichever of the given addresses answers. */
import type { Clock } from "../ground/kernel/clock.ts";
import { parseErrorCode } from "../ground/kernel/error-codes.ts";
import { messageOf, OperatingError } from "../ground/kernel/errors.ts";

export interface RegistrationConfig {
  /** Coordinators' addresses. */
  readonly urls: readonly string[];
  readonly clusterToken: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Tries every coordinator once, and the leader that a standby names. Throws the last refusal. */
export async function registerOnce(config: RegistrationConfig, body: unknown): Promise<void> {
  const urls = [...config.urls];
  let failure: unknown;
  for (let index = 0; index < urls.length && index < 8; index += 1) {
    try {
      await post(`${urls[index]}/api/v1/workers`, body, config);
      return;
    } catch (thrown) {
      failure = thrown;
      if (!(thrown instanceof OperatingError)) throw thrown;
      if (thrown.code !== "not_leader" && thrown.code !== "worker_unreachable") throw thrown;
      const leader = /https?:\/\/[^\s/]+/.exec(thrown.hint ?? "")?.[0];
      if (thrown.code === "not_leader" && leader !== undefined && !urls.includes(leader)) {
        urls.push(leader);
      }
    }
  }
  throw failure;
}

async function post(url: string, body: unknown, config: RegistrationConfig): Promise<void> {
  const timeout = new AbortController();
  const timer = config.clock.after(config.timeoutMs, () => timeout.abort());
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${config.clusterToken}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
      redirect: "error",
      signal: timeout.signal,
    });
    const text = await response.text();
    if (!response.ok) throw refusal(response.status, text);
  } catch (thrown) {
    if (thrown instanceof OperatingError) throw thrown;
    const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
    const reason = timeout.signal.aborted ? "no answer in time" : messageOf(cause);
    const message = `cannot reach the coordinator at ${new URL(url).origin}: ${reason}`;
    throw new OperatingError("worker_unreachable", "backoff", message, { cause: thrown });
  } finally {
    timer.cancel();
  }
}

function refusal(status: number, text: string): OperatingError {
  let body: { code?: string; message?: string; hint?: string } = {};
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    // Not an answer of Capstan; only the status is known.
  }
  const code =
    parseErrorCode(body.code ?? "") ?? (status === 401 ? "unauthenticated" : "protocol_violation");
  const message = body.message ?? `the coordinator answered HTTP ${status}`;
  const retry = status >= 500 || status === 429 ? "backoff" : "never";
  return new OperatingError(
    code,
    retry,
    message,
    body.hint === undefined ? {} : { hint: body.hint },
  );
}
