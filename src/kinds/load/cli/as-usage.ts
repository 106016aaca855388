/** LC4: what a person gave is wrong, not what was done with it: exit status 2. */
import type { ApiClient } from "../../../ground/command/index.ts";
import { exitCodes, Failure } from "../../../ground/command/index.ts";

/** Of a request whose body, or ids, a person gave. */
export function asUsage(thrown: unknown): never {
  if (thrown instanceof Failure && (thrown.code === "bad_request" || thrown.code === "not_found")) {
    throw new Failure(thrown.code, thrown.message, exitCodes.usage, thrown.hint);
  }
  throw thrown;
}

/**
 * Of a request that needs the role operate: a target, file or variable that may not be used is
 * `forbidden` like a token that may not operate, which is exit status 4.
 */
export async function asUsageUnlessToken(
  client: Pick<ApiClient, "json">,
  thrown: unknown,
): Promise<never> {
  if (!(thrown instanceof Failure) || thrown.code !== "forbidden") return asUsage(thrown);
  if (!(await mayOperate(client))) throw thrown;
  throw new Failure(thrown.code, thrown.message, exitCodes.usage, thrown.hint);
}

/** A run of this name there is not; who may not operate is told that instead. */
async function mayOperate(client: Pick<ApiClient, "json">): Promise<boolean> {
  try {
    await client.json("/api/runs/no-such-run/stop", { method: "POST", body: {} });
    return true;
  } catch (thrown) {
    return thrown instanceof Failure && thrown.code !== "forbidden";
  }
}
