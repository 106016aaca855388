import { sqliteFixture } from "../../../../ground/store/testing/fixtures.ts";
import { testSegmentCatalog } from "./segment-catalog.contract.ts";

testSegmentCatalog(sqliteFixture());
