/*
 * Test of srtp3_adapter.c through include/srtp.h, with the calls that the mediasoup worker makes.
 * build.sh runs it in every build. Exit status 1 and one line per failure on stderr.
 */
#include <stdio.h>
#include <string.h>
#include "srtp.h"

enum { RTP_LEN = 60, RTCP_LEN = 28, ROOM = SRTP_MAX_TRAILER_LEN + 4 };

static int failures;

#define CHECK(condition, suite)                                                            \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s: line %d: %s\n", suite, __LINE__, #condition);             \
            failures++;                                                                    \
        }                                                                                  \
    } while (0)

struct suite {
    const char *name;
    srtp_profile_t profile;
    size_t key_len, salt_len, rtp_tag_len, rtcp_tag_len;
};

static const struct suite suites[] = {
    { "AEAD_AES_256_GCM", srtp_profile_aead_aes_256_gcm, 32, 12, 16, 16 },
    { "AEAD_AES_128_GCM", srtp_profile_aead_aes_128_gcm, 16, 12, 16, 16 },
    { "AES_CM_128_HMAC_SHA1_80", srtp_profile_aes128_cm_sha1_80, 16, 14, 10, 10 },
    { "AES_CM_128_HMAC_SHA1_32", srtp_profile_aes128_cm_sha1_32, 16, 14, 4, 10 },
};

/* The order of calls of RTC::SrtpSession::SrtpSession(). */
static srtp_t create(const struct suite *suite, srtp_ssrc_type_t direction, uint8_t first_key_byte)
{
    srtp_policy_t policy = NULL;
    srtp_t session = NULL;
    srtp_ssrc_t ssrc = { direction, 0 };
    uint8_t key[64];

    for (size_t i = 0; i < sizeof(key); i++) {
        key[i] = (uint8_t)(first_key_byte + i);
    }
    CHECK(srtp_profile_get_master_key_length(suite->profile) == suite->key_len, suite->name);
    CHECK(srtp_profile_get_master_salt_length(suite->profile) == suite->salt_len, suite->name);
    CHECK(srtp_policy_create(&policy) == srtp_err_status_ok, suite->name);
    CHECK(srtp_policy_set_ssrc(policy, ssrc) == srtp_err_status_ok, suite->name);
    CHECK(srtp_policy_set_profile(policy, suite->profile) == srtp_err_status_ok, suite->name);
    CHECK(srtp_create(&session, policy) == srtp_err_status_bad_param, suite->name);
    CHECK(srtp_policy_add_key(policy, key, suite->key_len - 1, key + suite->key_len,
                              suite->salt_len, NULL, 0) == srtp_err_status_bad_param, suite->name);
    CHECK(srtp_policy_add_key(policy, key, suite->key_len, key + suite->key_len,
                              suite->salt_len, NULL, 0) == srtp_err_status_ok, suite->name);
    CHECK(srtp_policy_set_allow_repeat_tx(policy, true) == srtp_err_status_ok, suite->name);
    CHECK(srtp_policy_set_window_size(policy, 1024) == srtp_err_status_ok, suite->name);
    CHECK(srtp_create(&session, policy) == srtp_err_status_ok, suite->name);
    srtp_policy_destroy(policy);
    return session;
}

static void make_rtp(uint8_t *rtp, uint16_t sequence_number)
{
    static const uint8_t header[12] = { 0x80, 96, 0, 0, 0, 0, 0, 1, 0x12, 0x34, 0x56, 0x78 };

    memset(rtp, 0xab, RTP_LEN);
    memcpy(rtp, header, sizeof(header));
    rtp[2] = (uint8_t)(sequence_number >> 8);
    rtp[3] = (uint8_t)sequence_number;
}

static void make_rtcp(uint8_t *rtcp)
{
    static const uint8_t header[8] = { 0x80, 200, 0, 6, 0x12, 0x34, 0x56, 0x78 };

    memset(rtcp, 0xcd, RTCP_LEN);
    memcpy(rtcp, header, sizeof(header));
}

static void test_rtp(const struct suite *suite)
{
    srtp_t sender = create(suite, ssrc_any_outbound, 1);
    srtp_t receiver = create(suite, ssrc_any_inbound, 1);
    srtp_t other = create(suite, ssrc_any_inbound, 2);
    uint8_t rtp[RTP_LEN], copy[RTP_LEN], wire[RTP_LEN + ROOM], again[RTP_LEN + ROOM], back[RTP_LEN + ROOM];
    size_t len = sizeof(wire), again_len = sizeof(again), back_len = sizeof(back);

    make_rtp(rtp, 1);
    memcpy(copy, rtp, RTP_LEN);
    CHECK(srtp_protect(sender, rtp, RTP_LEN, wire, &len, 0) == srtp_err_status_ok, suite->name);
    CHECK(len == RTP_LEN + suite->rtp_tag_len, suite->name);
    CHECK(memcmp(rtp, copy, RTP_LEN) == 0, suite->name);
    CHECK(memcmp(wire, rtp, 12) == 0 && memcmp(wire + 12, rtp + 12, RTP_LEN - 12) != 0, suite->name);
    /* A retransmission without RTX sends the same sequence number again. */
    CHECK(srtp_protect(sender, rtp, RTP_LEN, again, &again_len, 0) == srtp_err_status_ok, suite->name);
    CHECK(again_len == len && memcmp(again, wire, len) == 0, suite->name);

    CHECK(srtp_unprotect(other, wire, len, back, &back_len) == srtp_err_status_auth_fail, suite->name);
    back_len = sizeof(back);
    CHECK(srtp_unprotect(receiver, wire, len, back, &back_len) == srtp_err_status_ok, suite->name);
    CHECK(back_len == RTP_LEN && memcmp(back, rtp, RTP_LEN) == 0, suite->name);
    back_len = sizeof(back);
    CHECK(srtp_unprotect(receiver, wire, len, back, &back_len) == srtp_err_status_replay_fail, suite->name);

    /* In place, as the worker decrypts. */
    make_rtp(rtp, 2);
    len = sizeof(wire);
    CHECK(srtp_protect(sender, rtp, RTP_LEN, wire, &len, 0) == srtp_err_status_ok, suite->name);
    back_len = len;
    CHECK(srtp_unprotect(receiver, wire, len, wire, &back_len) == srtp_err_status_ok, suite->name);
    CHECK(back_len == RTP_LEN && memcmp(wire, rtp, RTP_LEN) == 0, suite->name);

    /* Never writes past the capacity, and supports one key only. */
    len = RTP_LEN + SRTP_MAX_TRAILER_LEN - 1;
    CHECK(srtp_protect(sender, rtp, RTP_LEN, wire, &len, 0) == srtp_err_status_buffer_small, suite->name);
    len = sizeof(wire);
    CHECK(srtp_protect(sender, rtp, RTP_LEN, wire, &len, 1) == srtp_err_status_bad_mki, suite->name);

    CHECK(srtp_stream_remove(receiver, htonl(0x12345678)) == srtp_err_status_ok, suite->name);
    CHECK(srtp_stream_remove(receiver, htonl(0x12345678)) == srtp_err_status_no_ctx, suite->name);
    CHECK(srtp_dealloc(sender) == srtp_err_status_ok, suite->name);
    CHECK(srtp_dealloc(receiver) == srtp_err_status_ok, suite->name);
    CHECK(srtp_dealloc(other) == srtp_err_status_ok, suite->name);
}

static void test_rtcp(const struct suite *suite)
{
    srtp_t sender = create(suite, ssrc_any_outbound, 1);
    srtp_t receiver = create(suite, ssrc_any_inbound, 1);
    uint8_t rtcp[RTCP_LEN], wire[RTCP_LEN + ROOM], back[RTCP_LEN + ROOM];
    size_t len = sizeof(wire), back_len = sizeof(back);

    make_rtcp(rtcp);
    CHECK(srtp_protect_rtcp(sender, rtcp, RTCP_LEN, wire, &len, 0) == srtp_err_status_ok, suite->name);
    CHECK(len == RTCP_LEN + suite->rtcp_tag_len + 4, suite->name);
    CHECK(srtp_unprotect_rtcp(receiver, wire, len, back, &back_len) == srtp_err_status_ok, suite->name);
    CHECK(back_len == RTCP_LEN && memcmp(back, rtcp, RTCP_LEN) == 0, suite->name);
    len = RTCP_LEN + ROOM - 1;
    CHECK(srtp_protect_rtcp(sender, rtcp, RTCP_LEN, wire, &len, 0) == srtp_err_status_buffer_small, suite->name);
    len = sizeof(wire);
    CHECK(srtp_protect_rtcp(sender, rtcp, RTCP_LEN, wire, &len, 1) == srtp_err_status_bad_mki, suite->name);
    CHECK(srtp_dealloc(sender) == srtp_err_status_ok, suite->name);
    CHECK(srtp_dealloc(receiver) == srtp_err_status_ok, suite->name);
}

int main(void)
{
    CHECK(srtp_init() == srtp_err_status_ok, "srtp_init");
    for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
        test_rtp(&suites[i]);
        test_rtcp(&suites[i]);
    }
    CHECK(srtp_shutdown() == srtp_err_status_ok, "srtp_shutdown");
    return failures == 0 ? 0 : 1;
}
