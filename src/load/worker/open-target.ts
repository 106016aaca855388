/** What is under test, by its configuration. */
import type { Clock } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import type { TargetConfig } from "../core/scenario.ts";
import type { Target } from "../core/target.ts";
import { createPostgresTarget } from "../targets/postgres/postgres-target.ts";

/** `password`: as it is. Nothing is connected yet. */
export function openTarget(config: TargetConfig, password: string | null, clock: Clock): Target {
  if (config.kind === "postgres") {
    return createPostgresTarget(withPassword(config.url, password), clock);
  }
  const message = `there is no target of kind ${config.kind} yet`;
  throw new OperatingError("unsupported", "never", message);
}

function withPassword(text: string, password: string | null): string {
  if (password === null || !URL.canParse(text)) return text;
  const url = new URL(text);
  url.password = encodeURIComponent(password);
  return url.href;
}
