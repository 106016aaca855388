/** Names of targets are resolved as usual, but not to a cloud's metadata service. OT5. */
import { lookup as resolveName } from "node:dns";
import type { LookupFunction } from "node:net";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { isMetadataHost, metadataRefusal } from "../core/target-host.ts";

export const guardedLookup: LookupFunction = (name, options, callback) => {
  resolveName(name, { ...options, all: true }, (error, found) => {
    if (error !== null) {
      callback(error, "", undefined);
      return;
    }
    const [first] = found;
    if (first === undefined || found.some(({ address }) => isMetadataHost(address))) {
      callback(metadataRefusal(name), "", undefined);
    } else if (options.all === true) {
      callback(null, found, undefined);
    } else {
      callback(null, first.address, first.family);
    }
  });
};

/**
 * Throws `forbidden` for a name that leads there. One that cannot be resolved is no matter here.
 */
export function checkResolvedHost(host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    guardedLookup(host, { all: true }, (error) => {
      if (error instanceof OperatingError) reject(error);
      else resolve();
    });
  });
}
