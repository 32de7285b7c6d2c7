/* The tables of secrets, from the documentation of the services or from the form of their keys. A
 * length is a range where a service reserves the right to change it. Public values (Stripe's pk_,
 * account ids, public keys, certificates) are not secrets and have no row. */
#include "model/secrets.h"

static const char *const kinds[SECRET_KINDS] = {
    [SECRET_AWS_ID] = "an AWS access key id", [SECRET_AWS_KEY] = "an AWS secret key",
    [SECRET_GITHUB] = "a GitHub token",       [SECRET_GITLAB] = "a GitLab token",
    [SECRET_OPENAI] = "an OpenAI key",        [SECRET_ANTHROPIC] = "an Anthropic key",
    [SECRET_SLACK] = "a Slack token",         [SECRET_STRIPE] = "a Stripe key",
    [SECRET_GOOGLE] = "a Google key",         [SECRET_NPM] = "an npm token",
    [SECRET_PYPI] = "a PyPI token",           [SECRET_SENDGRID] = "a SendGrid key",
    [SECRET_TWILIO] = "a Twilio key",         [SECRET_AZURE] = "an Azure key",
    [SECRET_DISCORD] = "a Discord webhook",   [SECRET_HUGGING_FACE] = "a Hugging Face token",
    [SECRET_SERVICE] = "an API key",          [SECRET_JWT] = "a JWT",
    [SECRET_PRIVATE_KEY] = "a private key",   [SECRET_URL_PASSWORD] = "a password in a URL",
    [SECRET_RANDOM] = "a random key",
};

const char *secret_name(enum secret_kind kind)
{
    return kinds[kind];
}

#define ONE(prefix, kind, set, min, max)                                                           \
    {                                                                                              \
        (prefix), (kind), {{(set), (min), (max), NULL}}, false                                     \
    }
#define MIXED(prefix, kind, set, min, max)                                                         \
    {                                                                                              \
        (prefix), (kind), {{(set), (min), (max), NULL}}, true                                      \
    }

const struct secret_shape secret_shapes[] = {
    ONE("AKIA", SECRET_AWS_ID, SET_BASE32, 16, 16),
    ONE("ASIA", SECRET_AWS_ID, SET_BASE32, 16, 16),
    ONE("ABIA", SECRET_AWS_ID, SET_BASE32, 16, 16),
    ONE("ACCA", SECRET_AWS_ID, SET_BASE32, 16, 16),
    ONE("github_pat_", SECRET_GITHUB, SET_WORD, 60, 255),
    ONE("ghp_", SECRET_GITHUB, SET_WORD, 36, 255),
    ONE("gho_", SECRET_GITHUB, SET_WORD, 36, 255),
    ONE("ghu_", SECRET_GITHUB, SET_WORD, 36, 255),
    ONE("ghs_", SECRET_GITHUB, SET_DOTTED, 36, 700),
    ONE("ghr_", SECRET_GITHUB, SET_WORD, 36, 255),
    ONE("glpat-", SECRET_GITLAB, SET_DOTTED, 20, 300),
    ONE("gldt-", SECRET_GITLAB, SET_URL64, 20, 64),
    ONE("glrt-", SECRET_GITLAB, SET_DOTTED, 20, 300),
    ONE("glrtr-", SECRET_GITLAB, SET_DOTTED, 20, 300),
    ONE("glcbt-", SECRET_GITLAB, SET_URL64, 20, 300),
    ONE("glptt-", SECRET_GITLAB, SET_URL64, 20, 64),
    ONE("glft-", SECRET_GITLAB, SET_URL64, 20, 64),
    ONE("glimt-", SECRET_GITLAB, SET_URL64, 20, 64),
    ONE("glagent-", SECRET_GITLAB, SET_URL64, 40, 64),
    ONE("glsoat-", SECRET_GITLAB, SET_URL64, 20, 64),
    ONE("gloas-", SECRET_GITLAB, SET_URL64, 40, 80),
    ONE("GR1348941", SECRET_GITLAB, SET_URL64, 20, 20),
    ONE("sk-ant-", SECRET_ANTHROPIC, SET_URL64, 40, 300),
    ONE("sk-proj-", SECRET_OPENAI, SET_URL64, 40, 300),
    ONE("sk-svcacct-", SECRET_OPENAI, SET_URL64, 40, 300),
    ONE("sk-service-", SECRET_OPENAI, SET_URL64, 40, 300),
    ONE("sk-admin-", SECRET_OPENAI, SET_URL64, 40, 300),
    ONE("sk-None-", SECRET_OPENAI, SET_URL64, 40, 300),
    ONE("sk-lf-", SECRET_SERVICE, SET_DASHED, 36, 36), /* Langfuse */
    ONE("sk-or-v1-", SECRET_SERVICE, SET_HEX, 64, 64),
    ONE("sk-", SECRET_SERVICE, SET_HEX, 32, 32),
    MIXED("sk-", SECRET_OPENAI, SET_ALNUM, 40, 64),
    ONE("xoxe.xoxp-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxe.xoxb-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxb-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxp-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxa-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxr-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxs-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxe-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxo-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxc-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xapp-", SECRET_SLACK, SET_DASHED, 24, 400),
    ONE("xoxd-", SECRET_SLACK, SET_ESCAPED, 40, 400),
    ONE("hooks.slack.com/workflows/", SECRET_SLACK, SET_VALUE, 40, 120),
    ONE("hooks.slack.com/triggers/", SECRET_SLACK, SET_VALUE, 40, 120),
    {"hooks.slack.com/services/",
     SECRET_SLACK,
     {{SET_ALNUM, 8, 16, "/"}, {SET_ALNUM, 8, 16, "/"}, {SET_ALNUM, 20, 40, NULL}},
     false},
    ONE("sk_live_", SECRET_STRIPE, SET_ALNUM, 16, 255),
    ONE("sk_test_", SECRET_STRIPE, SET_ALNUM, 16, 255),
    ONE("rk_live_", SECRET_STRIPE, SET_ALNUM, 16, 255),
    ONE("rk_test_", SECRET_STRIPE, SET_ALNUM, 16, 255),
    ONE("sk_org_", SECRET_STRIPE, SET_WORD, 20, 255),
    ONE("whsec_", SECRET_STRIPE, SET_BASE64, 24, 128),
    ONE("AIza", SECRET_GOOGLE, SET_URL64, 35, 40),
    ONE("GOCSPX-", SECRET_GOOGLE, SET_URL64, 24, 40),
    ONE("ya29.", SECRET_GOOGLE, SET_URL64, 30, 2048),
    MIXED("AQ.Ab", SECRET_GOOGLE, SET_URL64, 40, 80),
    MIXED("1//0", SECRET_GOOGLE, SET_URL64, 40, 200),
    MIXED("sig=", SECRET_AZURE, SET_ESCAPED, 43, 100), /* a shared access signature */
    {"", SECRET_AZURE, {{SET_ALNUM, 5, 5, "~"}, {SET_TILDE, 31, 36, NULL}}, true},
    ONE("npm_", SECRET_NPM, SET_ALNUM, 36, 64),
    ONE("pypi-", SECRET_PYPI, SET_URL64, 85, 512),
    {"SG.", SECRET_SENDGRID, {{SET_URL64, 16, 32, "."}, {SET_URL64, 32, 64, NULL}}, false},
    ONE("SK", SECRET_TWILIO, SET_HEX, 32, 32),
    {"discord.com/api/webhooks/",
     SECRET_DISCORD,
     {{SET_DIGITS, 15, 22, "/"}, {SET_URL64, 50, 100, NULL}},
     false},
    {"discordapp.com/api/webhooks/",
     SECRET_DISCORD,
     {{SET_DIGITS, 15, 22, "/"}, {SET_URL64, 50, 100, NULL}},
     false},
    ONE("hf_", SECRET_HUGGING_FACE, SET_ALNUM, 34, 34), /* letters only */
    MIXED("hf_", SECRET_HUGGING_FACE, SET_ALNUM, 30, 64),
    ONE("api_org_", SECRET_HUGGING_FACE, SET_ALNUM, 34, 34),
    ONE("dop_v1_", SECRET_SERVICE, SET_HEX, 64, 64),        /* DigitalOcean */
    ONE("doo_v1_", SECRET_SERVICE, SET_HEX, 64, 64),        /* DigitalOcean */
    ONE("dor_v1_", SECRET_SERVICE, SET_HEX, 64, 64),        /* DigitalOcean */
    ONE("shpat_", SECRET_SERVICE, SET_HEX, 32, 32),         /* Shopify */
    ONE("shpss_", SECRET_SERVICE, SET_HEX, 32, 32),         /* Shopify */
    ONE("shpca_", SECRET_SERVICE, SET_HEX, 32, 32),         /* Shopify */
    ONE("shppa_", SECRET_SERVICE, SET_HEX, 32, 32),         /* Shopify */
    ONE("dapi", SECRET_SERVICE, SET_HEX, 32, 32),           /* Databricks */
    ONE("lin_api_", SECRET_SERVICE, SET_ALNUM, 40, 64),     /* Linear */
    ONE("dckr_pat_", SECRET_SERVICE, SET_URL64, 24, 64),    /* Docker */
    ONE("dckr_oat_", SECRET_SERVICE, SET_URL64, 24, 64),    /* Docker */
    ONE("dp.pt.", SECRET_SERVICE, SET_ALNUM, 40, 48),       /* Doppler */
    ONE("dp.sa.", SECRET_SERVICE, SET_ALNUM, 40, 48),       /* Doppler */
    ONE("dp.ct.", SECRET_SERVICE, SET_ALNUM, 40, 48),       /* Doppler */
    ONE("dp.st.", SECRET_SERVICE, SET_DOTTED, 40, 100),     /* Doppler */
    ONE("hvs.", SECRET_SERVICE, SET_URL64, 24, 300),        /* Vault */
    ONE("hvb.", SECRET_SERVICE, SET_URL64, 90, 300),        /* Vault */
    MIXED("gsk_", SECRET_SERVICE, SET_ALNUM, 48, 64),       /* Groq */
    MIXED("r8_", SECRET_SERVICE, SET_ALNUM, 37, 40),        /* Replicate */
    MIXED("xai-", SECRET_SERVICE, SET_ALNUM, 70, 100),      /* xAI */
    MIXED("pplx-", SECRET_SERVICE, SET_ALNUM, 40, 64),      /* Perplexity */
    ONE("sbp_", SECRET_SERVICE, SET_HEX, 40, 40),           /* Supabase */
    ONE("figd_", SECRET_SERVICE, SET_URL64, 36, 64),        /* Figma */
    ONE("NRAK-", SECRET_SERVICE, SET_ALNUM, 27, 27),        /* New Relic */
    ONE("glsa_", SECRET_SERVICE, SET_WORD, 36, 64),         /* Grafana */
    ONE("sntrys_", SECRET_SERVICE, SET_BASE64, 60, 400),    /* Sentry */
    ONE("ATATT3xFf", SECRET_SERVICE, SET_URL64, 150, 300),  /* Atlassian */
    ONE("tskey-", SECRET_SERVICE, SET_DASHED, 28, 80),      /* Tailscale */
    ONE("pul-", SECRET_SERVICE, SET_HEX, 40, 40),           /* Pulumi */
    ONE("rubygems_", SECRET_SERVICE, SET_HEX, 48, 48),      /* RubyGems */
    ONE("ATCTT3xFf", SECRET_SERVICE, SET_URL64, 150, 300),  /* Atlassian */
    MIXED("ATBB", SECRET_SERVICE, SET_ALNUM, 28, 36),       /* Atlassian */
    ONE("ntn_", SECRET_SERVICE, SET_ALNUM, 40, 60),         /* Notion */
    MIXED("secret_", SECRET_SERVICE, SET_ALNUM, 43, 43),    /* Notion */
    MIXED("fm2_", SECRET_SERVICE, SET_BASE64, 100, 4096),   /* Fly.io */
    ONE("HRKU-", SECRET_SERVICE, SET_URL64, 36, 80),        /* Heroku */
    ONE("pscale_tkn_", SECRET_SERVICE, SET_DOTTED, 32, 64), /* PlanetScale */
    ONE("pscale_pw_", SECRET_SERVICE, SET_DOTTED, 32, 64),  /* PlanetScale */
    ONE("sntryu_", SECRET_SERVICE, SET_HEX, 64, 64),        /* Sentry */
    ONE("sq0atp-", SECRET_SERVICE, SET_URL64, 22, 22),      /* Square */
    ONE("sq0csp-", SECRET_SERVICE, SET_URL64, 43, 43),      /* Square */
    MIXED("EAAA", SECRET_SERVICE, SET_URL64, 58, 64),       /* Square */
    MIXED("EAA", SECRET_SERVICE, SET_ALNUM, 100, 400),      /* Meta */
    ONE("glc_eyJ", SECRET_SERVICE, SET_URL64, 60, 400),     /* Grafana */
    ONE("nfp_", SECRET_SERVICE, SET_ALNUM, 36, 40),         /* Netlify */
    ONE("bkua_", SECRET_SERVICE, SET_HEX, 40, 40),          /* Buildkite */
    ONE("CCIPAT_", SECRET_SERVICE, SET_WORD, 50, 80),       /* CircleCI */
    ONE("pcsk_", SECRET_SERVICE, SET_WORD, 50, 80),         /* Pinecone */
    ONE("tvly-", SECRET_SERVICE, SET_DASHED, 28, 60),       /* Tavily */
    ONE("fc-", SECRET_SERVICE, SET_HEX, 32, 32),            /* Firecrawl */
    ONE("nvapi-", SECRET_SERVICE, SET_URL64, 60, 70),       /* NVIDIA */
    MIXED("jina_", SECRET_SERVICE, SET_URL64, 40, 70),      /* Jina */
    ONE("e2b_", SECRET_SERVICE, SET_HEX, 40, 40),           /* E2B */
    ONE("sk_", SECRET_SERVICE, SET_HEX, 48, 48),            /* ElevenLabs */
    ONE("phx_", SECRET_SERVICE, SET_ALNUM, 43, 48),         /* PostHog */
    ONE("rnd_", SECRET_SERVICE, SET_ALNUM, 28, 32),         /* Render */
    ONE("ops_eyJ", SECRET_SERVICE, SET_URL64, 200, 4096),   /* 1Password */
    MIXED("sl.", SECRET_SERVICE, SET_URL64, 100, 2048),     /* Dropbox */
    MIXED("cio", SECRET_SERVICE, SET_ALNUM, 32, 32),        /* crates.io */
    ONE("LTAI", SECRET_SERVICE, SET_ALNUM, 16, 24),         /* Alibaba Cloud */
    ONE("AKID", SECRET_SERVICE, SET_ALNUM, 32, 32),         /* Tencent Cloud */
    MIXED("ABSK", SECRET_SERVICE, SET_BASE64, 100, 200),    /* Amazon Bedrock */
    ONE("sb_secret_", SECRET_SERVICE, SET_URL64, 30, 40),   /* Supabase */
    {"re_", SECRET_SERVICE, {{SET_ALNUM, 8, 8, "_"}, {SET_ALNUM, 20, 30, NULL}}, true}, /* Resend */
    {"pat",
     SECRET_SERVICE,
     {{SET_ALNUM, 14, 14, "."}, {SET_HEX, 64, 64, NULL}},
     false}, /* Airtable */
    {"lsv2_pt_",
     SECRET_SERVICE,
     {{SET_HEX, 32, 32, "_"}, {SET_HEX, 10, 10, NULL}},
     false}, /* LangSmith */
    {"lsv2_sk_",
     SECRET_SERVICE,
     {{SET_HEX, 32, 32, "_"}, {SET_HEX, 10, 10, NULL}},
     false}, /* LangSmith */
    {"SWMTKN-1-",
     SECRET_SERVICE,
     {{SET_ALNUM, 40, 60, "-"}, {SET_ALNUM, 20, 30, NULL}},
     false}, /* Docker Swarm */
    {"dt0c01.",
     SECRET_SERVICE,
     {{SET_ALNUM, 24, 24, "."}, {SET_ALNUM, 64, 64, NULL}},
     false}, /* Dynatrace */
    {"xkeysib-",
     SECRET_SERVICE,
     {{SET_HEX, 64, 64, "-"}, {SET_ALNUM, 16, 16, NULL}},
     false}, /* Brevo */
    {"sk.eyJ",
     SECRET_SERVICE,
     {{SET_URL64, 40, 200, "."}, {SET_URL64, 20, 30, NULL}},
     false}, /* Mapbox */
    {"M",
     SECRET_SERVICE,
     {{SET_ALNUM, 23, 27, "."}, {SET_URL64, 6, 6, "."}, {SET_URL64, 27, 40, NULL}},
     true}, /* Discord bot */
    {"N",
     SECRET_SERVICE,
     {{SET_ALNUM, 23, 27, "."}, {SET_URL64, 6, 6, "."}, {SET_URL64, 27, 40, NULL}},
     true}, /* Discord bot */
    {"O",
     SECRET_SERVICE,
     {{SET_ALNUM, 23, 27, "."}, {SET_URL64, 6, 6, "."}, {SET_URL64, 27, 40, NULL}},
     true}, /* Discord bot */
    {"",
     SECRET_SERVICE,
     {{SET_DIGITS, 8, 10, ":AA"}, {SET_URL64, 33, 33, NULL}},
     false}, /* Telegram bot */
    {"",
     SECRET_SERVICE,
     {{SET_ALNUM, 14, 14, ".atlasv1."}, {SET_URL64, 60, 70, NULL}},
     true}, /* Terraform */
    {"",
     SECRET_SERVICE,
     {{SET_HEX, 32, 32, "-us"}, {SET_DIGITS, 1, 2, NULL}},
     false}, /* Mailchimp */
    ONE("AGE-SECRET-KEY-1", SECRET_PRIVATE_KEY, SET_ALNUM, 58, 58),
    {"PMAK-", SECRET_SERVICE, {{SET_HEX, 24, 24, "-"}, {SET_HEX, 34, 34, NULL}}, false},
    {"eyJ",
     SECRET_JWT,
     {{SET_URL64, 8, 1 << 16, ".eyJ"},
      {SET_URL64, 4, 1 << 20, "."},
      {SET_URL64, 20, 1 << 12, NULL}},
     false},
};
const size_t secret_shapes_n = FUMI_COUNT(secret_shapes);

#define NAMED_AWS(suffix)                                                                          \
    {                                                                                              \
        (suffix), SECRET_AWS_KEY, SET_BASE64, 40, 40, true                                         \
    }
#define NAMED(suffix)                                                                              \
    {                                                                                              \
        (suffix), SECRET_RANDOM, SET_VALUE, 24, 4096, true                                         \
    }
#define NEVER(suffix)                                                                              \
    {                                                                                              \
        (suffix), SECRET_RANDOM, SET_VALUE, 0, 0, true                                             \
    }

const struct secret_named secret_names[] = {
    NAMED_AWS("secretaccesskey"),
    NAMED_AWS("awssecretkey"),
    NAMED_AWS("awssecret"),
    {"accountkey", SECRET_AZURE, SET_BASE64, 86, 86, true},
    {"sharedaccesskey", SECRET_AZURE, SET_BASE64, 43, 43, true},
    {"twilioauthtoken", SECRET_TWILIO, SET_HEX, 32, 32, false},
    NEVER("pagetoken"),
    NEVER("nexttoken"),
    NEVER("continuationtoken"),
    NEVER("synctoken"),
    NAMED("apikey"),
    NAMED("accesskey"),
    NAMED("secretkey"),
    NAMED("authkey"),
    NAMED("privatekey"),
    NAMED("encryptionkey"),
    NAMED("signingkey"),
    NAMED("secret"),
    NAMED("token"),
    NAMED("password"),
    NAMED("passwd"),
    NAMED("bearer"),
    NAMED("basic"),
};
const size_t secret_names_n = FUMI_COUNT(secret_names);
