//! Every drop has a name. One list gives the enum, the counter, the sentence a person reads and the clause.
//!
//! A test fails on a name that nothing raises: a name goes into this list together with the code that raises it
//! and the test that makes it happen.

macro_rules! drops {
    ($($name:ident: $text:literal, $clause:literal, $sentence:literal;)*) => {
        /// Why a PDU, a procedure or a connection was dropped or refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Drop {
            $(#[doc = concat!($sentence, " (", $clause, ").")] $name,)*
        }

        impl Drop {
            /// All names, in the order of their index.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// How many names there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The counter's name: lower case, words joined by underscores, the layer first.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What a person reads.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)* }
            }

            /// The clause that says so, or the section of this project's own rules.
            #[must_use]
            pub const fn clause(self) -> &'static str {
                match self { $(Self::$name => $clause,)* }
            }

            /// Position in [`Drop::ALL`] and in every table of counters.
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

drops! {
    // ---------------------------------------------------------------- frames and machine

    NoFrame: "pool_no_frame", "frame pool", "no free frame was left in the pool";

    // ---------------------------------------------------------------- real-time driver

    RtNoEndpoint: "rt_no_endpoint", "real-time driver", "a datagram was to be sent where the node has no socket or device";
    RtSendQueueFull: "rt_send_queue_full", "real-time driver", "the queue in front of a socket that takes nothing more was full";
    RtSendTooLong: "rt_send_too_long", "real-time driver", "a datagram was longer than its path takes";
    RtSendFailed: "rt_send_failed", "real-time driver", "the operating system refused to send a datagram";
    RtDeviceQueue: "rt_device_queue", "RFC 8290", "a packet from a TUN device waited too long for a node that takes no more, or there were too many";
    RtReceiveMalformed: "rt_receive_malformed", "real-time driver", "a device handed over a packet that does not fit its own header";
    RtReceiveOverrun: "rt_receive_overrun", "packet(7)", "packets came to a device faster than the node took them from its packet socket";
    RtReceiveTooLong: "rt_receive_too_long", "real-time driver", "a datagram arrived that is longer than a frame";

    // ---------------------------------------------------------------- classification at the driver

    DemuxUnknownContext: "demux_unknown_context", "29.060 clause 7.3.7", "user data came for a PDP context that does not exist";
    DemuxStaleGeneration: "demux_stale_generation", "configuration", "user data came for a PDP context whose place another has now";
    DemuxBlocked: "demux_blocked", "flow control", "user data came for a mobile whose flow control takes nothing more";
    DemuxOverRate: "demux_over_rate", "negotiated peak throughput", "user data came faster than its mobile may receive or send";
    DemuxQueueFull: "demux_queue_full", "configuration", "user data came for a PDP context, or from a mobile, whose queue is full";
    DemuxBadIpChecksum: "demux_bad_ip_checksum", "RFC 791 clause 3.1", "the checksum of an IPv4 header is wrong";
    DemuxBadUdpChecksum: "demux_bad_udp_checksum", "RFC 768", "the checksum of a UDP datagram is wrong";
    DemuxMalformed: "demux_malformed", "29.060 clause 11", "a G-PDU or its UDP datagram could not be read";
    DemuxUnknownTlli: "demux_unknown_tlli", "03.60 clause 14.4", "an LL-PDU came from a mobile that nobody knows, and enough of these go to the node";
    DemuxForeignSource: "demux_foreign_source", "29.060 clause 9.1", "a mobile sent a packet with a source address that is not its own, and the driver found it";
    DemuxRingFull: "demux_ring_full", "AF_XDP", "the ring of a class, or that of high precedence, was full";
    DemuxFillEmpty: "demux_fill_empty", "AF_XDP", "no free frame was left for the driver to fill";

    // ---------------------------------------------------------------- network service

    NsMalformed: "ns_malformed", "08.16 clause 8", "an NS PDU could not be read";
    NsClaimRefused: "ns_claim_refused", "08.16 clause 7.3", "an NS-RESET or SNS-SIZE named what a live peer at another address has";
    NsUnknownPeer: "ns_unknown_peer", "08.16 clause 7.3", "an NS PDU came from an address that has no NS-VC";
    NsBlocked: "ns_blocked", "08.16 clause 7.2", "an NS-UNITDATA came on a blocked or dead NS-VC";
    NsUnexpected: "ns_unexpected", "08.16 clause 8", "an NS PDU does not fit the state of its NS-VC";
    NsNoVc: "ns_no_vc", "08.16 clause 4.4", "no NS-VC of the NSE is unblocked and has a weight for it";
    NsNoHeadroom: "ns_no_headroom", "08.16 clause 9.2.10", "an NS SDU had no room in front for its header";
    NsSnsRefused: "ns_sns_refused", "48.016 clause 6.2", "what an SNS PDU wanted was refused, by us or by the peer";
    NsTableFull: "ns_table_full", "configuration", "the table of NS-VCs is full";

    // ---------------------------------------------------------------- BSSGP, BVCs and flow control

    BssgpMalformed: "bssgp_malformed", "08.18 clause 7.8", "a BSSGP PDU could not be read";
    BssgpUnknownBvc: "bssgp_unknown_bvc", "08.18 clause 7.1", "a BSSGP PDU came for a BVC that does not exist here";
    BssgpBlockedBvc: "bssgp_blocked_bvc", "08.18 clause 8.3", "a BSSGP PDU came for a BVC that is blocked or was not reset yet";
    BssgpUnexpected: "bssgp_unexpected", "08.18 clause 8", "a BSSGP PDU does not fit the state of its BVC or the role of its receiver";
    BssgpForeignMobile: "bssgp_foreign_mobile", "08.18 clause 7", "a BSS spoke of a mobile that is not in its cells, or of nobody";
    BssgpOtherCell: "bssgp_other_cell", "08.18 clause 6.1", "an UL-UNITDATA named another cell than that of its BVC, whose cell counts";
    BssgpTableFull: "bssgp_table_full", "configuration", "the table of BVCs is full";
    BssgpUnanswered: "bssgp_unanswered", "08.18 clauses 8.3 and 8.4", "a BVC procedure stayed without answer after all its repetitions";
    BssgpStatusReceived: "bssgp_status_received", "08.18 clause 8.5", "the peer answered a BSSGP PDU of ours with STATUS";
    FlowMsQueueFull: "flow_ms_queue_full", "configuration", "the downlink queue of the mobile was full";
    FlowCellQueueFull: "flow_cell_queue_full", "configuration", "the downlink queues of the cell were full";
    FlowPushedOut: "flow_pushed_out", "03.60 clause 15.2.1", "the LL-PDU gave way to one of higher precedence in its full cell, or to one of real time";
    FlowTableFull: "flow_table_full", "configuration", "no queue node was left, or no place for one more mobile with a backlog";
    FlowTooLong: "flow_too_long", "08.18 clause 8.2", "the LL-PDU was longer than the bucket of its mobile or cell";
    FlowLifetime: "flow_lifetime", "08.18 clause 11.3.25", "the lifetime of the LL-PDU ran out in the downlink queue";
    FlowFlushed: "flow_flushed", "08.18 clause 8.1", "the LL-PDU was queued when its mobile or cell was flushed";

    // ---------------------------------------------------------------- queues of flows, before the stack

    FlowQueueFull: "flow_queue_full", "configuration", "the input queue of the PDP context was full";
    FlowQueueCellFull: "flow_queue_cell_full", "configuration", "the input queues of the PDP contexts in the cell were full, and nothing of lower precedence was in them";
    FlowQueueNodeFull: "flow_queue_node_full", "configuration", "the input queues of all PDP contexts together were full and nothing of lower precedence was in those of the cell, or the N-PDU's own had its share of the room that was left, or the processor was behind with those of very many";
    FlowQueueContextGone: "flow_queue_context_gone", "03.60 clause 9.2.4", "the N-PDU waited for a PDP context that was deactivated, or whose mobile is gone";
    FlowQueuePushedOut: "flow_queue_pushed_out", "03.60 clause 15.2.1", "the N-PDU gave way to one of higher precedence in the same cell";

    // ---------------------------------------------------------------- streams of an edge router

    EdgeUnknownStream: "edge_unknown_stream", "configuration", "a packet came for a stream that is not configured";
    EdgeOverRate: "edge_over_rate", "RFC 3246 clause 3", "a packet of expedited forwarding came faster than its stream may send";
    EdgeShareTaken: "edge_share_taken", "configuration", "a packet exceeded its stream's allocation, and the stream had its share of the shared buffers";
    EdgeSharedFull: "edge_shared_full", "configuration", "a packet exceeded its stream's allocation and was longer than the free rest of the shared buffers";

    EdgeMalformed: "edge_malformed", "RFC 1812 clause 5.2.2", "a packet came to an edge router that is no whole IP packet with a right checksum";
    EdgeRefused: "edge_refused", "configuration", "a rule for streams has the packet dropped";
    EdgeHeldFull: "edge_held_full", "RFC 4861 clause 7.2.2", "as many packets wait for the address of a next hop as may";
    EdgeNoNeighbour: "edge_no_neighbour", "RFC 4861 clause 7.2.2", "the address of a next hop was not found in time";
    EdgeNotFragmented: "edge_not_fragmented", "RFC 791 clause 3.2", "a packet is longer than its way carries, and had to be fragmented without room for that";

    // ---------------------------------------------------------------- queues of what comes from mobiles, before the stack

    UplinkQueueFull: "uplink_queue_full", "configuration", "the queue of what came from the mobile was full";
    UplinkQueueCellFull: "uplink_queue_cell_full", "configuration", "the queues of what came from mobiles of the cell were full, and nothing of lower precedence was in them";
    UplinkQueueNodeFull: "uplink_queue_node_full", "configuration", "the queues of what came from all mobiles together were full and nothing of lower precedence was in those of the cell, or those of the LL-PDU's own mobile had their share of the room that was left, or the processor was behind with those of many";
    UplinkQueueMobileGone: "uplink_queue_mobile_gone", "03.60 clause 6.6", "the LL-PDU waited for its turn, and its mobile is gone";
    UplinkQueuePushedOut: "uplink_queue_pushed_out", "03.60 clause 15.2.1", "the LL-PDU of a mobile gave way to one of higher precedence in the same cell";

    // ---------------------------------------------------------------- LLC

    LlcMalformed: "llc_malformed", "04.64 clause 5.8", "an LL-PDU could not be read";
    LlcBadFcs: "llc_bad_fcs", "04.64 clause 5.8", "the FCS of an LLC frame does not match";
    LlcUnknownSapi: "llc_unknown_sapi", "04.64 clause 5.8", "an LLC frame has a SAPI that is not served";
    LlcUnassigned: "llc_unassigned", "04.64 clause 8.3", "an LLC frame of a SAPI other than 1 while no TLLI is assigned";
    LlcTooLong: "llc_too_long", "04.64 clause 8.9", "the information of an LLC frame is longer than N201-U";
    LlcDuplicate: "llc_duplicate", "04.64 clause 8.4.2", "a UI frame came a second time";
    LlcCiphered: "llc_ciphered", "04.64 clause 4.6", "a ciphered frame came and no cipher is assigned";
    LlcUnciphered: "llc_unciphered", "04.08 clause 4.7.1.2", "user data or a message came in the clear on a link that is ciphered";
    LlcNoRoom: "llc_no_room", "frame pool", "a frame has no room for an LLC header or FCS";
    LlcAbmRefused: "llc_abm_refused", "04.64 clause 8.5.1.2", "acknowledged mode was asked for and refused with DM";
    LlcNotAbm: "llc_not_abm", "04.64 clause 8.5.4", "an I or S frame came without acknowledged mode";
    LlcNotEstablished: "llc_not_established", "04.64 clause 8.6", "a unit was given to a link that is not in acknowledged mode";
    LlcQueueFull: "llc_queue_full", "configuration", "too many units wait for the window of a link in acknowledged mode";
    LlcBusy: "llc_busy", "04.64 clause 8.6.5", "an I frame came while this end was busy";
    LlcBufferFull: "llc_buffer_full", "04.64 clause 8.9", "an I frame came out of order and mU or mD is used up";
    LlcFrameRejected: "llc_frame_rejected", "04.64 clause 8.8.2", "an I or S frame has an impossible N(R) or is longer than N201-I";
    LlcLinkUnanswered: "llc_link_unanswered", "04.64 clause 8.7", "a link in acknowledged mode stayed without answer for as long as N200 and T200 allow";
    LlcUnexpected: "llc_unexpected", "04.64 clause 8.5.4", "a U frame does not fit the state of its LLE";
    LlcUnknownFunction: "llc_unknown_function", "04.64 clause 6.4.1", "a U frame has an undefined function";
    LlcBadXid: "llc_bad_xid", "04.64 clause 8.5.3.3", "XID parameters could not be read or break the rules of negotiation";
    LlcXidUnanswered: "llc_xid_unanswered", "04.64 clause 8.5.3.4", "an XID command stayed without response N200 times";

    // ---------------------------------------------------------------- SNDCP

    SndcpMalformed: "sndcp_malformed", "04.65 clause 7.2", "an SN-PDU could not be read";
    SndcpEmpty: "sndcp_empty", "04.65 clause 7.2", "an N-PDU or a segment has no octets";
    SndcpTooLong: "sndcp_too_long", "04.65 clause 6.7", "an N-PDU is longer than 1520 octets or needs more than 16 segments";
    SndcpNoRoom: "sndcp_no_room", "frame pool", "a frame has no room for an SNDCP header or for the next segment";
    SndcpUnknownNsapi: "sndcp_unknown_nsapi", "04.65 clause 6.1", "an SN-PDU has an NSAPI without PDP context on its SAPI";
    SndcpAcknowledged: "sndcp_acknowledged", "04.65 clause 6.9.1", "an SN-DATA PDU came in unacknowledged mode";
    SndcpCompressed: "sndcp_compressed", "04.65 clause 6.5", "an N-PDU is compressed, and no compression was agreed";
    SndcpDuplicate: "sndcp_duplicate", "04.65 clause 6.7", "a segment came a second time";
    SndcpLate: "sndcp_late", "04.65 clause 6.7", "a segment came after a later N-PDU had begun";
    SndcpIncomplete: "sndcp_incomplete", "04.65 clause 6.7", "an N-PDU was given up before all its segments had come";
    SndcpTimeout: "sndcp_timeout", "04.65 clause 6.7", "the segments of an N-PDU did not all come in time";
    SndcpTableFull: "sndcp_table_full", "configuration", "the oldest incomplete N-PDU gave way to a new one";
    SndcpBadXid: "sndcp_bad_xid", "04.65 clause 8", "an XID block of SNDCP could not be read";
    SndcpAlgorithmRefused: "sndcp_algorithm_refused", "04.65 clauses 6.5.1.1.4 and 6.6.1.1.4", "an algorithm of compression was proposed that is not wanted here or not known";
    SndcpEntityRefused: "sndcp_entity_refused", "04.65 clauses 6.5.1.1 and 6.6.1.1", "a compression entity was refused: no NSAPI is left for it, its number means another one, or there are too many";
    SndcpBadParameters: "sndcp_bad_parameters", "04.65 clauses 6.5.2.1 and 6.6.2.1", "the parameters of a proposed compression entity could not be read or are out of their range";
    SndcpBadAnswer: "sndcp_bad_answer", "04.65 clause 6.8", "the answer about compression entities goes beyond what was proposed";
    SndcpXidCollision: "sndcp_xid_collision", "04.65 clause 6.8", "proposals of both ends crossed, and the SGSN's gave way";
    SndcpBadCompression: "sndcp_bad_compression", "04.65 clauses 6.5 and 6.6", "a compressed N-PDU could not be restored";
    SndcpUnacknowledged: "sndcp_unacknowledged", "04.65 clause 6.9.2", "an SN-UNITDATA PDU came in acknowledged mode";
    SndcpNotEstablished: "sndcp_not_established", "04.65 clause 6.9.1", "an SN-DATA PDU came while its link was not established";
    SndcpFirstMissing: "sndcp_first_missing", "04.65 clause 6.7.4.1", "a segment came in acknowledged mode without the first one of its N-PDU";
    SndcpContradiction: "sndcp_contradiction", "04.65 clause 6.7.4.2", "a segment says other than the first one of its N-PDU";
    SndcpRepeated: "sndcp_repeated", "04.65 clause 6.9.1", "an N-PDU of acknowledged mode came again after its link was established anew";
    SndcpGap: "sndcp_gap", "04.65 clause 6.9.1", "before an N-PDU of acknowledged mode others are missing";
    SndcpUnconfirmedFull: "sndcp_unconfirmed_full", "configuration", "as many N-PDUs as may wait for the peer's confirmation";
    SndcpUnconfirmed: "sndcp_unconfirmed", "04.65 clause 6.3", "an N-PDU was not confirmed before its PDP context ended";
    SndcpBadSequence: "sndcp_bad_sequence", "04.65 clause 5.1.2.26", "the peer expects an N-PDU that was never sent";
    SndcpUnexpected: "sndcp_unexpected", "04.65 clause 5.1.2", "a primitive of the layers beside SNDCP does not fit its state";

    // ---------------------------------------------------------------- GMM

    GmmMalformed: "gmm_malformed", "04.08 clause 8", "a GMM message could not be read";
    GmmUnexpected: "gmm_unexpected", "04.08 clause 8.4", "a GMM message does not fit the state of its mobile";
    GmmIgnored: "gmm_ignored", "04.08 clause 4.7", "a GMM request or answer gave way to a procedure in progress";
    GmmDetachDoubted: "gmm_detach_doubted", "03.60 clause 6.6.1", "a power-off detach was not obeyed: no P-TMSI signature, another one, or from another NSE";
    GmmRejected: "gmm_rejected", "04.08 clauses 4.7.3.1.4 and 4.7.5.1.4", "an attach or a routing area update was rejected";
    GmmAuthenticationFailed: "gmm_authentication_failed", "04.08 clause 4.7.7.5", "a mobile could not be authenticated";
    GmmNotGenuine: "gmm_not_genuine", "04.08 clause 4.7.7.6.1", "a network failed to prove to a mobile that it is genuine";
    GmmNoAnswer: "gmm_no_answer", "04.08 clause 11.2.2", "a GMM procedure ended since no answer came after the last try";
    GmmStatusReceived: "gmm_status_received", "04.08 clause 4.7.10", "the other end could not do anything with a GMM message";
    GmmNotAttached: "gmm_not_attached", "03.60 clause 6.1", "a frame came from or was to be sent to a mobile that is not attached";
    GmmUnreachable: "gmm_unreachable", "03.60 clause 6.1.2", "a mobile was not paged since its mobile reachable timer had run out";
    GmmPagingFailed: "gmm_paging_failed", "04.08 clause 4.7.9.1.1", "a mobile did not answer its last paging";
    GmmImplicitDetach: "gmm_implicit_detach", "03.60 clause 6.6.1", "a mobile was detached implicitly";

    // ---------------------------------------------------------------- SM

    SmMalformed: "sm_malformed", "04.08 clause 8", "an SM message could not be read";
    SmUnexpected: "sm_unexpected", "04.08 clause 8.4", "an SM message or an answer of the GGSN does not fit the state of its PDP context";
    SmUnknownTi: "sm_unknown_ti", "04.08 clause 8.3.2", "an SM message has a transaction identifier that belongs to no PDP context";
    SmIgnored: "sm_ignored", "04.08 clauses 8.3.2 and 6.1.3.3.3", "an SM message gave way to a procedure of the other side, or its transaction identifier flag was wrong";
    SmRepeated: "sm_repeated", "04.08 clauses 6.1.3.1.5 and 6.1.3.4.3", "an SM request came again while the first was being carried out";
    SmReplaced: "sm_replaced", "04.08 clauses 8.3.2 and 6.1.3.1.5", "a PDP context gave way to a new one with its transaction identifier, NSAPI or address";
    SmRejected: "sm_rejected", "04.08 clause 6.1.3.1.3", "an activation or modification of a PDP context was rejected";
    SmNoAnswer: "sm_no_answer", "04.08 clause 11.2.3", "an SM procedure ended since no answer came after the last try";
    SmStatusReceived: "sm_status_received", "04.08 clause 6.1.3.6", "the other end could not do anything with an SM message";

    // ---------------------------------------------------------------- GTP

    GtpMalformed: "gtp_malformed", "29.060 clause 11", "a GTP message could not be read";
    GtpVersion: "gtp_version", "29.060 clause 11.1.1", "a GTP message of another version arrived";
    GtpUnknownMessage: "gtp_unknown_message", "29.060 clauses 11.1.3 and 11.1.4", "a GTP message of a type that is unknown or does not belong to its plane arrived";
    GtpExtensionHeader: "gtp_extension_header", "29.060 clause 6", "a GTP message has an extension header that must be comprehended and is not known";
    GtpRepeatedRequest: "gtp_repeated_request", "29.060 clause 7.6", "a request came again; if it was answered, with the same answer";
    GtpUnexpectedResponse: "gtp_unexpected_response", "29.060 clause 7.6", "a response fits no request that is outstanding: late, repeated, or from another peer";
    GtpNoResponse: "gtp_no_response", "29.060 clause 7.6", "a request was sent N3-REQUESTS times and never answered";
    GtpTooManyRequests: "gtp_too_many_requests", "configuration", "as many requests are outstanding as there may be";
    GtpPathTableFull: "gtp_path_table_full", "configuration", "the table of GTP paths is full";
    GtpNoPath: "gtp_no_path", "29.060 clause 9.1", "a G-PDU was to be sent through a tunnel whose path is gone";
    GtpNoHeadroom: "gtp_no_headroom", "29.060 clause 6", "a G-PDU's header does not fit in front of its T-PDU";
    GtpUnknownTeid: "gtp_unknown_teid", "29.060 clause 7.3.7", "a G-PDU came for a tunnel endpoint that does not exist";
    GtpErrorIndicationLimited: "gtp_error_indication_limited", "configuration", "an Error Indication or its like was not sent because many were sent lately";
    GtpOwnAddress: "gtp_own_address", "29.060 clause 9.1", "a G-PDU was to be sent through a tunnel that leads to this node itself";
    GtpToMobile: "gtp_to_mobile", "29.060 clause 9.1", "a G-PDU was to be sent through a tunnel that leads to the address of a mobile behind this node";
    GtpFromMobile: "gtp_from_mobile", "29.060 clause 10.1.2", "a GTP datagram came from the address of a mobile behind this node";
    GtpUnreachable: "gtp_unreachable", "29.060 clause 7.3", "a peer names an address for signalling or user traffic that this node cannot reach: of another version of IP, of nobody, of many, its own, or that of a mobile behind it";
    GtpElementAbsent: "gtp_element_absent", "29.060 clause 7.3.2", "an answer of a GGSN lacks an element that a context can live without";
    GtpIncomplete: "gtp_incomplete", "29.060 clause 11.1.5", "a message lacks an element that it must have";
    GtpNotServed: "gtp_not_served", "29.060 clause 7.1", "a request came that a node of this kind does not serve";
    GtpVersionRefused: "gtp_version_refused", "29.060 clause 7.2.3", "a peer does not support the version of a request to it";
    GtpForeignUser: "gtp_foreign_user", "29.060 clause 9.1", "a G-PDU came from an address that is none of the tunnel's peer";
    GtpForeignErrorIndication: "gtp_foreign_error_indication", "29.060 clause 7.3.7", "an Error Indication about a tunnel came from an address that is none of the tunnel's peer";
    GgsnForeignSgsn: "ggsn_foreign_sgsn", "29.060 clause 10.1.2", "a request about a PDP context came from an address that is none of the context's SGSN";
    GgsnMoveRefused: "ggsn_move_refused", "29.060 clause 7.3.3", "a PDP context was to be moved or replaced by an address that may not do so: it is not listed, or guesses tunnel endpoints";
    GgsnPeerLimit: "ggsn_peer_limit", "configuration", "an SGSN, or all that are not listed together, have as many PDP contexts as they may have";
    SgsnForeignGgsn: "sgsn_foreign_ggsn", "29.060 clause 10.1.2", "a message about a tunnel came from an address that is not the tunnel's GGSN";
    GtpUnexpectedErrorIndication: "gtp_unexpected_error_indication", "29.060 clause 7.3.7", "an Error Indication names an address or endpoint that no tunnel uses";

    // ---------------------------------------------------------------- GSUP

    GsupMalformed: "gsup_malformed", "GSUP", "a message of the HLR could not be read";
    GsupElementSkipped: "gsup_element_skipped", "configuration", "an element of an HLR's message could not be read and counts as absent";
    GsupUnreadableAnswer: "gsup_unreadable_answer", "09.02 clause 17.6", "the HLR answered a request with a message that could not be read";
    GsupUnknownProtocol: "gsup_unknown_protocol", "IPA", "the HLR sent a message of another protocol than GSUP";
    GsupUnexpected: "gsup_unexpected", "09.02 clause 25", "a message of the HLR fits no request, or is not for an SGSN";
    GsupRefused: "gsup_refused", "09.02 clause 17.6", "the HLR refused a request with a cause";
    GsupNoAnswer: "gsup_no_answer", "09.02 clause 17.1.2", "the HLR did not answer a request in time";
    GsupLinkDown: "gsup_link_down", "configuration", "a request or report for the HLR failed since there is no connection to it";
    GsupDeadLink: "gsup_dead_link", "IPA", "the HLR did not answer on a connection, or broke its rules, and the connection was given up";
    GsupRepeated: "gsup_repeated", "configuration", "a request was made while one of its kind for the same subscriber is outstanding";
    GsupSuperseded: "gsup_superseded", "configuration", "a subscriber was to be purged and is back";
    GsupVectorRefused: "gsup_vector_refused", "33.102 clause 6.3", "an authentication vector came a second time, or more came than are kept";
    GsupTooManyRequests: "gsup_too_many_requests", "configuration", "as many requests to the HLR are outstanding as there may be";
    GsupTooManyIndications: "gsup_too_many_indications", "configuration", "as many requests of the HLR are unanswered as there may be";
    GsupLateResponse: "gsup_late_response", "configuration", "an answer to the HLR came when the connection on which it asked was gone";

    // ---------------------------------------------------------------- GGSN

    GgsnRefused: "ggsn_refused", "29.060 clause 7.3", "a request about a PDP context was refused with a cause";
    GgsnSourceAddress: "ggsn_source_address", "29.060 clause 9.1", "a mobile sent a packet with a source address that is not its own";
    GgsnToGtp: "ggsn_to_gtp", "29.060 clause 9.1", "a mobile sent a packet to an address at which this node speaks GTP";
    GgsnLinkLocal: "ggsn_link_local", "23.060 clause 9.2.1.1", "a mobile sent a packet that stays on its link, and it was no solicitation that is answered";
    GgsnSolicitationLimited: "ggsn_solicitation_limited", "RFC 4861 clause 6.2.6", "a mobile asked for routers again within three seconds of the answer";
    GgsnToMobile: "ggsn_to_mobile", "configuration", "a mobile sent a packet to another mobile, and an access point of the two does not permit that";
    GgsnHopLimit: "ggsn_hop_limit", "RFC 1812 clause 5.3.1", "a packet from one mobile to another had no hop left";
    GgsnOverRate: "ggsn_over_rate", "23.107 clause 6.4.3.1", "a packet exceeded the maximum bit rate of its PDP context";
    GgsnContextGone: "ggsn_context_gone", "23.060 clause 9.2.4", "a packet waited in the queue of its stream until its PDP context was gone";
    GgsnNotIp: "ggsn_not_ip", "configuration", "a packet that is none of IP came from a mobile or from the network";
    GgsnNoFilter: "ggsn_no_filter", "23.060 clause 15.3", "a packet came from the network that fits the traffic flow template of none of the contexts of its address";
    GgsnAwaitsContext: "ggsn_awaits_context", "23.060 clause 9.2.2.2", "a packet came from the network for the static address of a mobile that has no PDP context and is asked for one";
    GgsnNotificationLimited: "ggsn_notification_limited", "configuration", "a packet came from the network for the static address of a mobile that has no PDP context, and as many SGSNs are asked for such mobiles as may be at a time";
    GgsnNotReached: "ggsn_not_reached", "29.060 clause 7.3.10", "a mobile did not activate the PDP context of its static address";
    GgsnNoContext: "ggsn_no_context", "23.060 clause 9.6", "a packet came from the network for an address that no PDP context has";

    // ---------------------------------------------------------------- the SGSN

    SgsnUnknownTlli: "sgsn_unknown_tlli", "03.60 clause 14.4", "an LL-PDU came with a TLLI that nobody has";
    SgsnOtherRoutingArea: "sgsn_other_routing_area", "23.060 clause 6.9.1", "an LL-PDU came from a cell of another routing area than that of its mobile, which has not updated it";
    SgsnSmsNotServed: "sgsn_sms_not_served", "03.60 clause 5.4.1", "a mobile sent a short message (SAPI 7), which this SGSN does not serve";
    SgsnStrangerUnanswered: "sgsn_stranger_unanswered", "configuration", "too many unknown mobiles were answered lately";
    SgsnMobileTableFull: "sgsn_mobile_table_full", "configuration", "the table of mobiles is full";
    SgsnContextTableFull: "sgsn_context_table_full", "configuration", "the table of PDP contexts is full";
    SgsnEvicted: "sgsn_evicted", "configuration", "a mobile that was attaching gave way to another, since the table is full";
    SgsnNoPTmsi: "sgsn_no_ptmsi", "04.08 clause 4.7.1.4", "no free P-TMSI was found";
    SgsnSmUnattached: "sgsn_sm_unattached", "04.08 clause 4.7.1.3", "a mobile that is not attached sent a session message";
    SgsnNoContext: "sgsn_no_context", "03.60 clause 9.2", "an N-PDU was for a PDP context that is not active";
    SgsnUnconfirmedFull: "sgsn_unconfirmed_full", "configuration", "as many octets as may wait at this node for mobiles' confirmation, or a context's share of them";
    SgsnNoCell: "sgsn_no_cell", "08.18 clause 5.4", "an LL-PDU was for a cell that is not known";
    SgsnNoHeadroom: "sgsn_no_headroom", "frame pool", "an LL-PDU had no room in front for its header";
    SgsnGgsnRefused: "sgsn_ggsn_refused", "29.060 clause 7.3.2", "a GGSN refused a PDP context";
    SgsnTunnelLost: "sgsn_tunnel_lost", "29.060 clause 11.2", "a GGSN has lost a PDP context";
    SgsnPathFailed: "sgsn_path_failed", "29.060 clause 7.2.1", "a GGSN does not answer";
    SgsnRadioStatus: "sgsn_radio_status", "08.18 clause 7.3", "a BSS reported trouble with a mobile on the radio interface";
    SgsnDiscardedByBss: "sgsn_discarded_by_bss", "08.18 clause 8.3", "a BSS discarded an LL-PDU";
    SgsnDeletedByBss: "sgsn_deleted_by_bss", "08.18 clause 8.1", "a BSS deleted the LL-PDUs of a mobile that has left its cell";
    SgsnLeftBehind: "sgsn_left_behind", "configuration", "an N-PDU waited for a mobile that has left its cell, and such are discarded";
    SgsnFlushUnanswered: "sgsn_flush_unanswered", "08.18 clause 8.1", "a BSS did not answer FLUSH-LL in time";
    SgsnFlushUnexpected: "sgsn_flush_unexpected", "08.18 clause 8.1", "a FLUSH-LL-ACK fits no FLUSH-LL that is outstanding";
    HeldFull: "held_full", "configuration", "no more N-PDUs are held for a mobile that is paged";
    HeldTooLong: "held_too_long", "configuration", "an N-PDU was held too long while its mobile was paged";
    HeldUnanswered: "held_unanswered", "04.08 clause 4.7.9.1", "the mobile did not answer its paging";
    HeldMobileGone: "held_mobile_gone", "04.08 clause 4.7.4", "an N-PDU was held for a mobile that is gone";

    // ---------------------------------------------------------------- adaptation protocol

    AdaptMalformed: "adapt_malformed", "docs/bearer-adaptation.md", "a PDU of the adaptation protocol could not be read";
    AdaptUnexpected: "adapt_unexpected", "docs/bearer-adaptation.md", "a PDU of the adaptation protocol goes the wrong way, or answers nothing that was asked";
    AdaptUnauthenticated: "adapt_unauthenticated", "docs/bearer-adaptation.md", "a PDU without authentication came where that is demanded";
    AdaptUnknownKey: "adapt_unknown_key", "docs/bearer-adaptation.md", "a hello names a key that the access point does not have";
    AdaptUnknownSession: "adapt_unknown_session", "docs/bearer-adaptation.md", "a PDU came in a session that does not exist";
    AdaptBadMac: "adapt_bad_mac", "docs/bearer-adaptation.md", "the message authentication code of a PDU is wrong";
    AdaptReplayed: "adapt_replayed", "docs/bearer-adaptation.md", "an authenticated PDU has come before, or too late to tell";
    AdaptExhausted: "adapt_exhausted", "docs/bearer-adaptation.md", "a session has no packet number left";
    AdaptForeignTlli: "adapt_foreign_tlli", "docs/bearer-adaptation.md", "a mobile used a TLLI that is in use by the owner of another key";
    AdaptTableFull: "adapt_table_full", "configuration", "an access point has no room for another mobile";
    AdaptUnknownCell: "adapt_unknown_cell", "configuration", "a cell was named that is not configured there, or that there is no room to learn";
    AdaptStaleBeacon: "adapt_stale_beacon", "docs/bearer-adaptation.md", "an authenticated beacon is not newer than the last";
    AdaptOtherAccessPoint: "adapt_other_access_point", "docs/bearer-adaptation.md", "a beacon names a cell that another access point has";
    AdaptUnknownAccessPoint: "adapt_unknown_access_point", "docs/bearer-adaptation.md", "a PDU came from an access point that has sent no beacon";
    AdaptNoLink: "adapt_no_link", "docs/bearer-adaptation.md", "there is no link, or no session, over which something could be sent";
    AdaptTooLong: "adapt_too_long", "docs/bearer-adaptation.md", "an LL-PDU would need more pieces than there may be";
    AdaptSegmentDuplicate: "adapt_segment_duplicate", "docs/bearer-adaptation.md", "a piece of an LL-PDU came twice";
    AdaptSegmentMalformed: "adapt_segment_malformed", "docs/bearer-adaptation.md", "pieces of an LL-PDU do not fit together";
    AdaptSegmentTimeout: "adapt_segment_timeout", "docs/bearer-adaptation.md", "pieces of an LL-PDU were missing for too long";
    AdaptSegmentEvicted: "adapt_segment_evicted", "configuration", "an LL-PDU in pieces gave way to another";

    // ---------------------------------------------------------------- nodes

    UmMalformed: "um_malformed", "emulated Um", "a datagram on the emulated radio could not be read, or goes the wrong way";
    BssFlushed: "bss_flushed", "08.18 clause 8.1", "the BSS held the LL-PDU when its mobile or cell was flushed";
    BssUnknownMobile: "bss_unknown_mobile", "08.18 clause 6.1", "an LL-PDU came for a TLLI that no mobile in the cell uses";
    BssOverrun: "bss_overrun", "08.18 clause 8.2", "the radio queue of the cell was full";
    BssLifetime: "bss_lifetime", "08.18 clause 11.3.25", "the lifetime of the LL-PDU ran out in the BSS";
    BssRadioLoss: "bss_radio_loss", "configuration", "the emulated radio lost the LL-PDU, as it was told to";
    BssContactLost: "bss_contact_lost", "08.18 clause 8.3", "the mobile had left the cell when its LL-PDU was sent there";
    BssPreempted: "bss_preempted", "configuration", "calls had taken all PDCHs of the cell, and the LL-PDU was not held";
    BssPagedNowhere: "bss_paged_nowhere", "08.18 clause 7.1", "a mobile was to be paged in an area that has no cell in service";
    BssOverload: "bss_overload", "48.018 clause 10.4", "a mobile that is not attached sent while the SGSN was overloaded";
    BssCellDown: "bss_cell_down", "08.18 clause 8.3", "a mobile sent in a cell whose BVC is out of service";

    // The mobiles.
    MsNotSuspended: "ms_not_suspended", "03.60 clause 16.2.1.1", "a suspension was acknowledged to a mobile that did not ask for it";
    MsUnknownMobile: "ms_unknown_mobile", "emulated Um", "a datagram is for a mobile that does not exist";
    MsUnknownTlli: "ms_unknown_tlli", "04.64 clause 8.3", "an LL-PDU came with a TLLI that is not, or no longer, its mobile's";
    MsOtherCell: "ms_other_cell", "emulated Um", "an LL-PDU came in a cell that its mobile has left";
    MsNoCell: "ms_no_cell", "emulated Um", "a mobile without a cell had something to send";
    MsNoRoom: "ms_no_room", "frame pool", "a frame has no room for the header of the emulated radio";
    MsOverMtu: "ms_over_mtu", "04.64 clause 8.9", "an LL-PDU of a mobile is longer than its bearer carries";
    MsUnconfirmedFull: "ms_unconfirmed_full", "configuration", "as many octets as may wait at this node for the network's confirmation";
    MsRadioFull: "ms_radio_full", "configuration", "so much of a mobile waits for the radio that an LL-PDU has no room";
    MsRadioContact: "ms_radio_contact", "44.060 clause 8.7.2", "a mobile has not reached its cell by random access, and gives up what it had to send";
    MsPagingNobody: "ms_paging_nobody", "04.08 clause 4.7.9.1", "no mobile in the cell has the name that was paged";
    MsPagingCs: "ms_paging_cs", "03.60 clause 16.3.1", "paging for circuit-switched services, which no mobile here has";
    MsNoContext: "ms_no_context", "04.65 clause 6.1", "a mobile was to send an N-PDU without an active PDP context for it";
    MsOtherAddressType: "ms_other_address_type", "03.60 clause 9.1", "a mobile was to send a packet that is of no active PDP context's type";
    MsUpdating: "ms_updating", "04.08 clause 4.7.5.1", "a mobile was to send user data while it updates its routing area";
    MsSuspended: "ms_suspended", "03.60 clause 16.2.1.1", "something was sent to or by a mobile whose GPRS services are suspended";
    MsNoCipher: "ms_no_cipher", "04.08 clause 4.7.7.2", "the network ordered a cipher that the mobile does not have, or has no key for";
    MsBadOrder: "ms_bad_order", "configuration", "an order to a mobile means nothing: no such mobile, cell or context, or not in this state";
}

/// A counter for each name.
#[derive(Clone, PartialEq, Eq)]
pub struct DropCounters([u64; Drop::COUNT]);

impl Default for DropCounters {
    fn default() -> Self {
        Self([0; Drop::COUNT])
    }
}

impl DropCounters {
    /// Counts one.
    pub fn add(&mut self, drop: Drop) {
        if let Some(counter) = self.0.get_mut(drop.index()) {
            *counter += 1;
        }
    }

    /// Adds the counts of another.
    pub fn add_all(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own += other;
        }
    }

    /// The count of one name.
    #[must_use]
    pub fn get(&self, drop: Drop) -> u64 {
        self.0.get(drop.index()).copied().unwrap_or(0)
    }

    /// All names that were counted at least once.
    pub fn raised(&self) -> impl Iterator<Item = (Drop, u64)> + '_ {
        Drop::ALL.iter().map(|drop| (*drop, self.get(*drop))).filter(|(_, count)| *count > 0)
    }

    /// The sum of all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl core::fmt::Debug for DropCounters {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map().entries(self.raised().map(|(drop, count)| (drop.name(), count))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut names: Vec<&str> = Drop::ALL.iter().map(|drop| drop.name()).collect();
        assert!(
            names
                .iter()
                .all(|name| name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_'))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Drop::COUNT);
    }
}
