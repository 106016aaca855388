import { until } from "../../kernel/testing/eventually.ts";
import { testLinkContract } from "../core/link.contract.ts";
import { GrpcFixture } from "./testing/grpc-fixture.ts";

testLinkContract("links over gRPC", async () => {
  const fixture = new GrpcFixture();
  return {
    dialer: fixture.dialer(),
    listen: (accept) => fixture.listen(accept),
    nowhere: () => fixture.nowhere(),
    until,
    close: () => fixture.close(),
  };
});
