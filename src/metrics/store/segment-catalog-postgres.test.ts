import { postgresFixture } from "../../store/testing/fixtures.ts";
import { testSegmentCatalog } from "./segment-catalog.contract.ts";

testSegmentCatalog(postgresFixture());
