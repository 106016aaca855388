/**
 * Secrets that a configuration names, where this worker finds them: in an environment variable, or
 * in a file of a mounted directory. They are read whenever fragments are deployed, so that a value
 * that was changed counts from then on, and are told to nobody. Rules: SD45, SD46.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DialectError, secretsOf, withSecrets } from "../../language/core/index.ts";
import type { FragmentSpec } from "../../run/core/index.ts";

export interface SecretPlaces {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `undefined`: no directory is mounted. */
  readonly directory: string | undefined;
}

/** The fragments with the values. Throws the terminal error of a secret that is not there. */
export async function resolveSecrets(
  specs: readonly FragmentSpec[],
  places: SecretPlaces,
): Promise<readonly FragmentSpec[]> {
  const names = secretsOf({ nodes: specs.flatMap(({ nodes }) => nodes) });
  if (names.length === 0) return specs;
  const values = new Map<string, string>();
  for (const name of names) values.set(name, await findSecret(name, places));
  return specs.map((spec) => ({
    ...spec,
    nodes: spec.nodes.map((node) => withSecrets(node, (name) => values.get(name) ?? "")),
  }));
}

async function findSecret(name: string, { env, directory }: SecretPlaces): Promise<string> {
  const variable = variableOf(name);
  const value = env[variable];
  if (value !== undefined && value !== "") return value;
  const looked = [`the environment variable ${variable}`];
  if (directory !== undefined) {
    const path = join(directory, name);
    const found = await readSecret(path);
    if (found.value !== undefined) return found.value;
    looked.push(`the file ${path} (${found.trouble})`);
  }
  const hint =
    directory === undefined
      ? "Give the worker the variable, or --secrets-dir with a file of this name."
      : "Give the worker one of them.";
  const message = `there is no secret ${name} on this worker: it looked for ${looked.join(" and ")}`;
  throw new DialectError(1000, message, { hint });
}

/** `api-token` is in CAPSTAN_SECRET_API_TOKEN. */
function variableOf(name: string): string {
  return `CAPSTAN_SECRET_${name.toUpperCase().replaceAll(/[.-]/g, "_")}`;
}

type Found =
  | { readonly value: string; readonly trouble?: undefined }
  | { readonly value?: undefined; readonly trouble: string };

/** Without the line end that an editor puts behind it. */
async function readSecret(path: string): Promise<Found> {
  try {
    const value = (await readFile(path, "utf8")).replace(/\r?\n$/, "");
    return value === "" ? { trouble: "it is empty" } : { value };
  } catch (thrown) {
    return { trouble: (thrown as NodeJS.ErrnoException).code ?? "it cannot be read" };
  }
}
