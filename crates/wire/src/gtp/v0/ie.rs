//! Information elements of GTPv0 (09.60 clause 7.9): their types and how long they are. How a message's elements are
//! taken apart is the same as in version 1. Charging characteristics, which came with R98 (12.15), are stepped over.

use crate::gtp::ie::elements;

elements! {
    CAUSE = 1, 1, "Cause";
    IMSI = 2, 8, "IMSI";
    RAI = 3, 6, "Routeing Area Identity";
    TLLI = 4, 4, "Temporary Logical Link Identity";
    P_TMSI = 5, 4, "Packet TMSI";
    QOS_PROFILE = 6, 3, "Quality of Service Profile";
    REORDERING_REQUIRED = 8, 1, "Reordering Required";
    AUTHENTICATION_TRIPLET = 9, 28, "Authentication Triplet";
    MAP_CAUSE = 11, 1, "MAP Cause";
    P_TMSI_SIGNATURE = 12, 3, "P-TMSI Signature";
    MS_VALIDATED = 13, 1, "MS Validated";
    RECOVERY = 14, 1, "Recovery";
    SELECTION_MODE = 15, 1, "Selection Mode";
    FLOW_LABEL_DATA_I = 16, 2, "Flow Label Data I";
    FLOW_LABEL_SIGNALLING = 17, 2, "Flow Label Signalling";
    FLOW_LABEL_DATA_II = 18, 3, "Flow Label Data II";
    MS_NOT_REACHABLE_REASON = 19, 1, "MS Not Reachable Reason";
    CHARGING_CHARACTERISTICS = 26, 2, "Charging Characteristics";
    CHARGING_ID = 127, 4, "Charging ID";
    END_USER_ADDRESS = 128, TLV, "End User Address";
    MM_CONTEXT = 129, TLV, "MM Context";
    PDP_CONTEXT = 130, TLV, "PDP Context";
    APN = 131, TLV, "Access Point Name";
    PCO = 132, TLV, "Protocol Configuration Options";
    GSN_ADDRESS = 133, TLV, "GSN Address";
    MSISDN = 134, TLV, "MS International PSTN/ISDN Number";
    CHARGING_GATEWAY_ADDRESS = 251, TLV, "Charging Gateway Address";
    PRIVATE_EXTENSION = 255, TLV, "Private Extension";
}
