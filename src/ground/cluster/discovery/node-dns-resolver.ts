import { Resolver } from "node:dns/promises";
import type { DnsResolver } from "./dns-discovery.ts";

const queryMsMax = 2_000;

/** Uses the machine's resolver configuration. */
export function createNodeDnsResolver(): DnsResolver {
  const resolver = new Resolver({ timeout: queryMsMax, tries: 2 });
  return {
    srv: async (name) => {
      const records = await orNone(resolver.resolveSrv(name));
      return records.map((record) => ({ host: record.name, port: record.port }));
    },
    addresses: async (name) => {
      const [v4, v6] = await Promise.all([
        orNone(resolver.resolve4(name)),
        orNone(resolver.resolve6(name)),
      ]);
      return [...v4, ...v6];
    },
  };
}

/** An absent name, or one without such records, is an empty list; other failures throw. */
async function orNone<T>(answer: Promise<T[]>): Promise<T[]> {
  try {
    return await answer;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOTFOUND" || code === "ENODATA") return [];
    throw error;
  }
}
