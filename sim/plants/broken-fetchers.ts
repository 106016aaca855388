/** Fetchers of artifacts that break their rules. */
import { SimFetcher } from "../world/sim-fetcher.ts";

export class TrustingFetcher extends SimFetcher {
  protected override isIntact(): boolean {
    return true;
  }
}

/** Now and then throws an unexpected error. */
export class BrokenFetcher extends SimFetcher {
  #count = 0;

  override fetch(...call: Parameters<SimFetcher["fetch"]>): ReturnType<SimFetcher["fetch"]> {
    this.#count += 1;
    return this.#count % 20 === 0 ? Promise.reject(new TypeError("a bug")) : super.fetch(...call);
  }
}
