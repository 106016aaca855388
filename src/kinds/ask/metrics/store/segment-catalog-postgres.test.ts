import { postgresFixture } from "../../../../ground/store/testing/fixtures.ts";
import { testSegmentCatalog } from "./segment-catalog.contract.ts";

testSegmentCatalog(postgresFixture());
