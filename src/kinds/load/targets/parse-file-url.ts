/**
 * `sqlite:///path/of/file?setting=…` and the like: an absolute path, and settings that the kind
 * knows.
 */
import { TargetUrl } from "./target-url.ts";

export interface FileUrl {
  readonly path: string;
  readonly settings: ReadonlyMap<string, string>;
}

/** The path alone, for who does not know the kind's settings. Throws `bad_request`. */
export function filePathOf(scheme: string, text: string): string {
  return parseFileUrl(scheme, text.replace(/\?.*$/s, ""), {}).path;
}

export function parseFileUrl(
  scheme: string,
  text: string,
  known: Readonly<Record<string, RegExp>>,
): FileUrl {
  const url = new TargetUrl(text, {
    name: `a ${scheme}`,
    schemes: [scheme],
    hint: `${scheme}:///path/of/the/file`,
  });
  if (url.host !== "" || url.user !== "") throw url.refusal("a file has no host");
  const { path } = url;
  if (!path.startsWith("/") || path.endsWith("/") || path.includes("\0")) {
    throw url.refusal("there is no absolute path of a file in it");
  }
  const settings = new Map<string, string>();
  for (const [name, form] of Object.entries(known)) {
    const value = url.take(name);
    if (value === undefined) continue;
    if (!form.test(value)) throw url.refusal(`${name} cannot be that`);
    settings.set(name, value);
  }
  url.checkSettings();
  return { path, settings };
}
