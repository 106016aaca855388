import { VirtualClock } from "../../../kernel/testing/virtual-clock.ts";
import { testLinkContract } from "../link.contract.ts";
import { MemoryNetwork } from "./memory-network.ts";

testLinkContract("links in memory", async () => {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(clock);
  let port = 0;
  return {
    dialer: network,
    listen: async (accept) => {
      port += 1;
      return network.listen(port, accept);
    },
    nowhere: async () => ({ host: "memory", grpcPort: 9 }),
    until: async (condition) => {
      for (let times = 0; times < 100 && !condition(); times += 1) await clock.advance(1);
    },
    close: async () => undefined,
  };
});
