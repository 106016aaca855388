/** Turns errors about a user's input into wrong usage, exit status 2 (LC4). */
import type { ApiClient } from "../../../ground/command/index.ts";
import { exitCodes, Failure } from "../../../ground/command/index.ts";

/** For a request whose body or ids come from the user. */
export function asUsage(thrown: unknown): never {
  if (thrown instanceof Failure && (thrown.code === "bad_request" || thrown.code === "not_found")) {
    throw new Failure(thrown.code, thrown.message, exitCodes.usage, thrown.hint);
  }
  throw thrown;
}

/**
 * For a request that needs the role operate. The API answers `forbidden` both for a target, file or
 * variable that may not be used (exit status 2) and for a token without the role (exit status 4).
 */
export async function asUsageUnlessToken(
  client: Pick<ApiClient, "json">,
  thrown: unknown,
): Promise<never> {
  if (!(thrown instanceof Failure) || thrown.code !== "forbidden") return asUsage(thrown);
  if (!(await mayOperate(client))) throw thrown;
  throw new Failure(thrown.code, thrown.message, exitCodes.usage, thrown.hint);
}

/**
 * Tries to change a run that does not exist: a token without the role gets another error than
 * `not_found`.
 */
async function mayOperate(client: Pick<ApiClient, "json">): Promise<boolean> {
  try {
    await client.json("/api/runs/no-such-run/stop", { method: "POST", body: {} });
    return true;
  } catch (thrown) {
    return thrown instanceof Failure && thrown.code !== "forbidden";
  }
}
