/**
 * Which environment variables a load test may send to its target: a target of the sender's choice.
 * AS2.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

const usual = /^LOAD_TARGET_/;
const own = /^CAPSTAN_/i;
const hint =
  "Give the variable a name that begins with LOAD_TARGET_, or have the coordinator started with --allow-password-env NAME.";

/** Throws `forbidden`, the same whether there is such a variable or not. */
export function checkPasswordEnv(name: string, allowed: readonly string[]): void {
  if (!own.test(name) && (usual.test(name) || allowed.includes(name))) return;
  const why = own.test(name) ? "is Capstan's own" : "is not one that a load test may read";
  throw new OperatingError("forbidden", "never", `password_env: ${name} ${why}`, { hint });
}

/** Checks the names given on the command line. Throws `bad_request`. */
export function checkAllowedEnvs(names: readonly string[]): void {
  const wrong = names.find((name) => own.test(name) || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong === undefined) return;
  const why = own.test(wrong) ? "is Capstan's own" : "is no variable's name";
  throw new OperatingError("bad_request", "never", `--allow-password-env: ${wrong} ${why}`);
}
