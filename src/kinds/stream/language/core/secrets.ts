/**
 * Settings that are secret may be references, `SECRET('name')`: in a configuration they are texts
 * of this form, in whose place the worker puts what it finds by the name.
 */
import type { Plan } from "./plan.ts";

const reference = /^SECRET\('(.+)'\)$/;

export function secretReference(name: string): string {
  return `SECRET('${name}')`;
}

/** The names of the secrets that the sources and sinks of a plan refer to. */
export function secretsOf({ nodes }: Plan): readonly string[] {
  const names = nodes.flatMap(({ op }) => {
    if (op.kind !== "source" && op.kind !== "sink") return [];
    return Object.values(op.config).flatMap((value) => {
      const name = typeof value === "string" ? reference.exec(value)?.[1] : undefined;
      return name === undefined ? [] : [name];
    });
  });
  return [...new Set(names)];
}
